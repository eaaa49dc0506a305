// y[row[e]] += weight[e] * x[col[e]] over edges sorted by row, without atomics: COO SpMV by segmented
// reduction.
//
// A warp takes an interval of edges, 32 at a time. Where a step of 32 edges has one row, every lane adds its
// term to its share of that row, without communication. Where rows begin in a step, the shares of the open
// row are reduced, rows that begin and end in the step are summed by a segmented scan, and the last row stays
// open. The published algorithm has a separate tail; here the last step has idle lanes instead.
//
// Rows that begin and end within an interval are written at once. The first and the last row of an interval
// may continue in others: both sums go to a list (temp_rows, temp_vals) of two entries per interval, which is
// again sorted by row. The second pass reduces that list in the same way, until one warp takes all of it. So
// each row of y is written once, and its order of additions depends on the row pointers only.
#include "core/cuda/warp.cuh"
#include "ops/cuda/device/loads.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/sparse.h"
#include "ops/plan/spmv_plan.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kSteps = 4;  // steps of 32 edges with loads in flight

template <class I, class In>
struct Edges {
  const I *row, *col;    // col is null where x has one element per edge
  const In *weight, *x;  // weight is null for an unweighted sum
  std::int64_t count, interval;
};

template <class Sum>
struct OpenRows {  // [2 * intervals]; null where one interval takes all edges
  std::int32_t* row;
  Sum* sum;
};

// The rows and terms of kSteps * 32 edges from `base` on; terms at or past `end` are 0.
template <class I, class In>
__device__ __forceinline__ void load_steps(const Edges<I, In>& edges, std::int64_t base, std::int64_t end,
                                           I (&row)[kSteps], Accumulator<In> (&term)[kSteps]) {
  I source[kSteps];
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    const std::int64_t e = base + s * kWarp;
    row[s] = e < end ? load_streaming(edges.row + e) : 0;
    if (edges.col) source[s] = e < end ? load_streaming(edges.col + e) : 0;
  }
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    const std::int64_t e = base + s * kWarp;
    term[s] = 0;
    if (e < end) term[s] = widen(edges.col ? __ldg(edges.x + source[s]) : load_streaming(edges.x + e));
  }
  if (edges.weight) {
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      const std::int64_t e = base + s * kWarp;
      if (e < end) term[s] *= widen(load_streaming(edges.weight + e));
    }
  }
}

// grid intervals / warps of a block, block kThreads: a warp per interval. `heads` (the lanes where a row
// begins) and `first` are the same in all lanes of a warp.
template <class I, class In, class Out>
__global__ void __launch_bounds__(kThreads)
    segment_sum_kernel(const Edges<I, In> edges, const OpenRows<Accumulator<In>> open, Out* y) {
  using Sum = Accumulator<In>;
  const std::int64_t id = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  const std::int64_t begin = id * edges.interval;
  if (begin >= edges.count) return;  // all lanes of the warp, or none
  const std::int64_t end = begin + edges.interval < edges.count ? begin + edges.interval : edges.count;
  const int lane = threadIdx.x % kWarp;
  I current = edges.row[begin];      // the open row
  Sum share = 0;                     // this lane's part of its sum
  bool first = open.row != nullptr;  // the open row is the interval's first and may begin in an earlier one
  for (std::int64_t base = begin; base < end; base += kSteps * kWarp) {
    I row[kSteps];
    Sum term[kSteps];
    load_steps(edges, base + lane, end, row, term);
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      const I left = __shfl_up_sync(kFullMask, row[s], 1);
      const bool valid = base + s * kWarp + lane < end;
      const unsigned heads = __ballot_sync(kFullMask, valid && row[s] != (lane == 0 ? current : left));
      if (heads == 0) {
        share += term[s];
        continue;
      }
      const int first_head = __ffs(static_cast<int>(heads)) - 1, last_head = kWarp - 1 - __clz(heads);
      const Sum ended = sum_over(lane < first_head ? share + term[s] : share);
      if (lane == 0) {
        if (first) {
          open.row[2 * id] = static_cast<std::int32_t>(current);
          open.sum[2 * id] = ended;
        } else {
          y[current] = static_cast<Out>(ended);
        }
      }
      first = false;
      if (first_head != last_head) {
        // This lane's segment begins at the last head at or before the lane.
        const int start = kWarp - 1 - __clz(heads & ((2u << lane) - 1));
        Sum scan = term[s];
#pragma unroll
        for (int offset = 1; offset < kWarp; offset *= 2) {
          const Sum other = __shfl_up_sync(kFullMask, scan, offset);
          if (lane - offset >= start) scan += other;
        }
        if (lane >= first_head && lane < last_head && (heads >> (lane + 1) & 1u))
          y[row[s]] = static_cast<Out>(scan);
      }
      current = __shfl_sync(kFullMask, row[s], last_head);
      share = lane >= last_head ? term[s] : Sum(0);
    }
  }
  const Sum last = sum_over(share);
  if (lane != 0) return;
  if (open.row == nullptr) {
    y[current] = static_cast<Out>(last);
    return;
  }
  open.row[2 * id + 1] = static_cast<std::int32_t>(current);
  open.sum[2 * id + 1] = first ? Sum(0) : last;
  if (first) {
    open.row[2 * id] = static_cast<std::int32_t>(current);
    open.sum[2 * id] = last;
  }
}

template <class I, class In, class Out>
void reduce(Device device, Edges<I, In> edges, Out* y) {
  using Sum = Accumulator<In>;
  edges.interval = segment_interval(edges.count);
  const std::int64_t intervals = ceil_div(edges.count, edges.interval);
  Tensor row, sum;
  if (intervals > 1) {
    row = Tensor::empty({2 * intervals}, DType::kI32, device);
    sum = Tensor::empty({2 * intervals}, dtype_of<Sum>(), device);
  }
  launch("segment_sum", device, segment_sum_kernel<I, In, Out>,
         dim3(static_cast<unsigned>(ceil_div(intervals, kThreads / kWarp))), dim3(kThreads), 0, edges,
         OpenRows<Sum>{static_cast<std::int32_t*>(row.raw()), static_cast<Sum*>(sum.raw())}, y);
  if (intervals > 1)
    reduce(device,
           Edges<std::int32_t, Sum>{row.data<std::int32_t>(), nullptr, nullptr, sum.data<Sum>(),
                                    2 * intervals, 0},
           y);
}

template <class I>
__global__ void first_descent_kernel(const I* ids, std::int64_t n, unsigned long long* first) {
  RODEO_GRID_STRIDE(i, n) {
    if (i > 0 && ids[i - 1] > ids[i]) atomicMin(first, static_cast<unsigned long long>(i));
  }
}

template <class F>
void dispatch_index(DType dtype, F&& f) {
  if (dtype == DType::kI64)
    f(std::int64_t{});
  else
    f(std::int32_t{});
}

}  // namespace

void segment_sum(const Tensor& row, const Tensor& col, const Tensor& weight, const Tensor& x,
                 const Tensor& y) {
  y.fill(0);  // rows without edges
  dispatch_float(x.dtype(), "segment_sum", [&]<class T>(T) {
    using D = device_t<T>;
    dispatch_index(row.dtype(), [&]<class I>(I) {
      reduce(y.device(),
             Edges<I, D>{row.data<I>(), static_cast<const I*>(col.raw()), device_data<T>(weight),
                         device_data<T>(x), row.numel(), 0},
             device_data<T>(y));
    });
  });
}

std::int64_t first_descent(const Tensor& ids) {
  const Tensor first = Tensor::full({}, -1, DType::kI64, ids.device());  // the largest unsigned value
  dispatch_index(ids.dtype(), [&]<class I>(I) {
    launch("order check", ids.device(), first_descent_kernel<I>, grid_for(ids.numel(), kThreads), kThreads, 0,
           ids.data<I>(), ids.numel(), reinterpret_cast<unsigned long long*>(first.data<std::int64_t>()));
  });
  return first.to_vector<std::int64_t>()[0];
}

}  // namespace rodeo::kernels::cuda
