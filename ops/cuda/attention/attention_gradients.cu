// Gradients of attention after the pass over the edges. For a layer, where s and t are dots of x with two
// vectors, one pass over the nodes reads x, the edge sums and dx once and keeps dt in registers.
#include "ops/cuda/attention/attention_gradients.h"

#include "core/cuda/warp.cuh"
#include "ops/cuda/device/column_sums.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/plan/attention_config.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;

template <class T>
struct ColumnArgs {
  const T *x, *positive, *ds;
  const Accumulator<T>* minus;
  const std::int64_t* row_ptr;
  T *dx, *dt;
  std::int64_t columns, heads, k;
  int lanes;
  Accumulator<T> slope;
};

template <class T>
struct VectorArgs {
  const Accumulator<T>*dst, *src;
  Accumulator<T>*d_dst, *d_src, *partial;
  int* arrived;
  std::int64_t chunk;
};

// dt of every (column, head). Grid (columns * heads / (kThreads / lanes)), block kThreads; `lanes` threads
// share a head. k is a multiple of kVec.
template <class T, int kVec>
__global__ void __launch_bounds__(kThreads) column_gradients_kernel(const ColumnArgs<T> args) {
  using Sum = Accumulator<T>;
  using Row = Pack<T, kVec>;
  const std::int64_t at =
      (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) >> (31 - __clz(args.lanes));
  const int member = static_cast<int>(threadIdx.x) & (args.lanes - 1);
  const bool inside = at < args.columns * args.heads;
  Sum dot = 0;
  for (std::int64_t j = member * kVec; inside && j < args.k; j += args.lanes * kVec) {
    const auto row = [&](const T* of) { return *reinterpret_cast<const Row*>(of + at * args.k + j); };
    const Row own = row(args.x), all = row(args.dx), part = row(args.positive);
#pragma unroll
    for (int v = 0; v < kVec; ++v)
      dot +=
          widen(own.value[v]) * (args.slope * widen(all.value[v]) + (1 - args.slope) * widen(part.value[v]));
  }
  dot = sum_over(dot, args.lanes);
  if (!inside || member > 0) return;
  const std::int64_t column = quotient(at, args.heads);
  const bool alone = args.row_ptr[column] == args.row_ptr[column + 1];  // dt = 0 even where x is NaN
  args.dt[at] = static_cast<T>(alone ? Sum(0) : dot - args.minus[at]);
}

template <int kVec>
constexpr int kSteps = kVec == 1 ? 2 : 1;  // packs of a head that a lane holds
constexpr int kRows = 2;                   // in flight in a thread

// dx, and the gradients of both vectors. Grid and block of ColumnSumsConfig; a column group is one lane of a
// head.
template <class T, int kVec>
__global__ void __launch_bounds__(kColumnSumThreads, 2)
    layer_gradients_kernel(const ColumnArgs<T> args, const VectorArgs<T> vectors) {
  using Sum = Accumulator<T>;
  using Row = Pack<T, kVec>;
  constexpr int kHeld = kSteps<kVec>;
  const std::int64_t group = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t head = group >> (31 - __clz(args.lanes));
  const int member = static_cast<int>(group) & (args.lanes - 1);
  const ColumnSumsChunk rows(vectors.chunk, args.columns);
  const auto place = [&](int s) { return static_cast<std::int64_t>(s * args.lanes + member) * kVec; };
  const auto is_mine = [&](int s) { return head < args.heads && place(s) < args.k; };
  Sum dst[kHeld][kVec] = {}, src[kHeld][kVec] = {};
  Sum sum[2 * kHeld * kVec] = {};  // d_dst, then d_src
#pragma unroll
  for (int s = 0; s < kHeld; ++s)
#pragma unroll
    for (int v = 0; v < kVec; ++v)
      if (is_mine(s)) {
        dst[s][v] = vectors.dst[head * args.k + place(s) + v];
        src[s][v] = vectors.src[head * args.k + place(s) + v];
      }
  // All threads of a warp do the same number of rounds: they shuffle.
  for (std::int64_t first = rows.begin; first < rows.end; first += kRows * blockDim.y) {
    Row own[kRows][kHeld], all[kRows][kHeld], part[kRows][kHeld];
    Sum ds[kRows], minus[kRows];
    bool alone[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const std::int64_t column = first + r * blockDim.y + threadIdx.y, at = column * args.heads + head;
      const bool valid = column < rows.end && head < args.heads;
#pragma unroll
      for (int s = 0; s < kHeld; ++s) {
        const auto read = [&](const T* of) {
          return valid && is_mine(s) ? *reinterpret_cast<const Row*>(of + at * args.k + place(s)) : Row{};
        };
        own[r][s] = read(args.x), all[r][s] = read(args.dx), part[r][s] = read(args.positive);
      }
      ds[r] = valid ? widen(args.ds[at]) : Sum(0);
      minus[r] = valid ? args.minus[at] : Sum(0);
      alone[r] = valid && args.row_ptr[column] == args.row_ptr[column + 1];  // dt = 0 even where x is NaN
    }
    Sum dot[kRows] = {};
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int s = 0; s < kHeld; ++s)
#pragma unroll
        for (int v = 0; v < kVec; ++v)
          dot[r] += widen(own[r][s].value[v]) *
                    (args.slope * widen(all[r][s].value[v]) + (1 - args.slope) * widen(part[r][s].value[v]));
    }
    for (int offset = args.lanes / 2; offset > 0; offset /= 2)
#pragma unroll
      for (int r = 0; r < kRows; ++r) dot[r] += __shfl_xor_sync(kFullMask, dot[r], offset);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const std::int64_t column = first + r * blockDim.y + threadIdx.y;
      if (column >= rows.end) break;
      const Sum dt = alone[r] ? Sum(0) : dot[r] - minus[r];
#pragma unroll
      for (int s = 0; s < kHeld; ++s) {
        if (!is_mine(s)) break;
        Row out;
#pragma unroll
        for (int v = 0; v < kVec; ++v) {
          sum[s * kVec + v] += ds[r] * widen(own[r][s].value[v]);
          sum[(kHeld + s) * kVec + v] += dt * widen(own[r][s].value[v]);
          out.value[v] = static_cast<T>(widen(all[r][s].value[v]) + ds[r] * dst[s][v] + dt * src[s][v]);
        }
        *reinterpret_cast<Row*>(args.dx + (column * args.heads + head) * args.k + place(s)) = out;
      }
    }
  }
  if (!finish_column_sums(sum, group, args.heads * args.lanes, vectors.partial, vectors.arrived)) return;
#pragma unroll
  for (int s = 0; s < kHeld; ++s)
#pragma unroll
    for (int v = 0; v < kVec; ++v)
      if (is_mine(s)) {
        vectors.d_dst[head * args.k + place(s) + v] = sum[s * kVec + v];
        vectors.d_src[head * args.k + place(s) + v] = sum[(kHeld + s) * kVec + v];
      }
}

}  // namespace

void attention_gradients(const Csr& transposed, double slope, const Tensor& x, const EdgeSums& sums,
                         const AttentionGradients& gradients, const AttentionVectors& vectors) {
  const std::int64_t columns = x.dim(0), heads = x.dim(1), k = x.dim(2);
  const Device device = x.device();
  dispatch_float(x.dtype(), "gat_attention", [&]<class T>(T) {
    using D = device_t<T>;
    using Sum = Accumulator<D>;
    const auto run = [&]<int kVec>() {
      const int lanes = lanes_per_head(k, kVec);
      const bool at_once = vectors.dst.defined() && k <= lanes * kVec * kSteps<kVec>;
      const Tensor dt = at_once                  ? Tensor()
                        : gradients.dt.defined() ? gradients.dt
                                                 : Tensor::empty(gradients.ds.shape(), x.dtype(), device);
      const ColumnArgs<D> args{.x = device_data<T>(x),
                               .positive = device_data<T>(sums.positive),
                               .ds = device_data<T>(gradients.ds),
                               .minus = sums.minus.data<Sum>(),
                               .row_ptr = transposed.row_ptr.data<std::int64_t>(),
                               .dx = device_data<T>(gradients.dx),
                               .dt = device_data<T>(dt),
                               .columns = columns,
                               .heads = heads,
                               .k = k,
                               .lanes = lanes,
                               .slope = static_cast<Sum>(slope)};
      if (!at_once) {
        launch("attention gradients", device, column_gradients_kernel<D, kVec>,
               dim3(static_cast<unsigned>(ceil_div(columns * heads, kThreads / lanes))), kThreads, 0, args);
        if (!vectors.dst.defined()) return;
        head_dot_sum(gradients.ds, x, vectors.d_dst, dt, vectors.d_src);
        head_outer(gradients.ds, vectors.dst, dt, vectors.src, gradients.dx);
        return;
      }
      const std::int64_t groups = heads * lanes;
      const auto width = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(groups)));
      const ColumnSumsConfig config =
          choose_column_sums(columns, groups, std::min<std::int64_t>(width, kWarp), kRows);
      const Tensor partial =
          Tensor::empty({config.chunks, groups, 2 * kSteps<kVec> * kVec}, dtype_of<Sum>(), device);
      launch("attention gradients", device, layer_gradients_kernel<D, kVec>, grid_of(config),
             block_of(config), 0, args,
             VectorArgs<D>{.dst = vectors.dst.data<Sum>(),
                           .src = vectors.src.data<Sum>(),
                           .d_dst = vectors.d_dst.data<Sum>(),
                           .d_src = vectors.d_src.data<Sum>(),
                           .partial = partial.data<Sum>(),
                           .arrived = Context::of(device).zeroed_counters(config.column_tiles),
                           .chunk = config.chunk});
    };
    if constexpr (sizeof(D) < 8) {  // f64 is a reference and has one kernel
      constexpr int kVec = 16 / sizeof(D);
      if (k % kVec == 0 && is_aligned(x) && is_aligned(gradients.dx) && is_aligned(sums.positive))
        return run.template operator()<kVec>();
    }
    run.template operator()<1>();
  });
}

}  // namespace rodeo::kernels::cuda
