// The kernels of sddmm_forms.h: the library's Dot (ops/cuda/sddmm/sddmm.cuh), and one with two buffers of B2.
#include "bench/sddmm_forms.h"
#include "core/error.h"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/cuda/sddmm/sddmm.cuh"

namespace rodeo::bench {
namespace {

using namespace rodeo::kernels::cuda;

constexpr int kThreads = 128;

/// The library's tile with another number of loads a step.
template <int kLanes, int kChunks, int kLoads>
struct FormTile : DotTile<float, kLanes, kChunks, false> {
  static constexpr int kDepth = kLoads / kChunks, kSteps = FormTile::kEdges / kDepth;
  static_assert(kDepth >= 1 && kDepth * kSteps == FormTile::kEdges, "a batch is a whole number of steps");
};

template <class Tile>
struct PipelinedDot : Dot<Tile> {
  using Base = Dot<Tile>;
  using Base::args, Base::b2;
  using typename Base::Ends, typename Base::Rows, typename Base::Sum;
  static_assert(Tile::kSteps % 2 == 0, "the first step of every batch is in the first buffer");

  __device__ explicit PipelinedDot(const DotArgs<float, Sum>& a) : Base(a) {}

  __device__ void multiply_step(Sum (&value)[Tile::kEdges], const Rows& rows, int step) const {
#pragma unroll
    for (int d = 0; d < Tile::kDepth; ++d) {
      Sum sum = 0;
#pragma unroll
      for (int c = 0; c < Tile::kChunks; ++c) {
        Sum b[Tile::kVec], part = 0;
        Base::unpack(b, rows[d][c]);
#pragma unroll
        for (int v = 0; v < Tile::kVec; ++v) part += this->own[c][v] * b[v];
        sum += this->active[c] ? part : 0;  // the load in its place may be infinite
      }
      value[step * Tile::kDepth + d] = sum;
    }
  }

  /// As Dot::run without slices. Before a step is multiplied the rows of the next one are asked for, also
  /// those of the next batch.
  __device__ void run(int at, int span) {
    const int stride = Tile::kResults * span;
    Ends now = this->load_ends(at, span), next = this->load_ends(at + stride, span);
    Rows rows[2];
    this->gather(rows[0], b2, args.b2_row_bytes, now.col, 0);
#pragma unroll 1
    for (; __any_sync(kFullMask, at < this->length); at += stride) {
      Sum value[Tile::kEdges];
#pragma unroll
      for (int step = 0; step < Tile::kSteps; ++step) {
        if (step + 1 < Tile::kSteps)
          this->gather(rows[(step + 1) % 2], b2, args.b2_row_bytes, now.col, step + 1);
        else
          this->gather(rows[0], b2, args.b2_row_bytes, next.col, 0);
        multiply_step(value, rows[step % 2], step);
      }
      now = next;
      next = this->load_ends(at + 2 * stride, span);
      this->reduce(value);
      this->for_own_dots(at, span, [&](std::int64_t place, std::int64_t edge, int r) {
        __stcs(args.out + place, args.weight ? load_streaming(args.weight + edge) * value[r] : value[r]);
      });
    }
  }
};

// As the library's kernel by rows: warps [0, pieces) take a piece each, the others a residual row per team.
template <class Work, int kBlocks>
__global__ void __launch_bounds__(kThreads, kBlocks)
    rows_kernel(const DotArgs<float, float> args, const RodeView rode) {
  Work dot(args);
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  constexpr int kUnit = Work::kLanes < Work::kEdges ? Work::kLanes : Work::kEdges;
  if (warp < rode.pieces) {
    dot.take_row(rode.piece(warp));
    dot.run(dot.team * kUnit, dot.teams * kUnit);
  } else {
    dot.take_row(rode.residual((warp - rode.pieces) * dot.teams + dot.team));
    dot.run(0, kUnit);
  }
}

template <int kLanes, int kChunks>
void run_tile(SddmmForm form, const DotArgs<float, float>& args, const RodePlan& plan, Device device) {
  const RodeView rode(plan);
  const std::int64_t warps = rode.pieces + ceil_div(rode.residuals, kWarp / kLanes);
  const auto go = [&](auto* kernel) {
    launch("sddmm_form", device, kernel, dim3(static_cast<unsigned>(ceil_div(warps, kThreads / kWarp))),
           dim3(kThreads), 0, args, rode);
  };
  constexpr int kBlocks = kChunks == 1 ? 8 : 7;  // as the library
  if (form == SddmmForm::kBatch)
    go(rows_kernel<Dot<DotTile<float, kLanes, kChunks, false>>, kBlocks>);
  else if (form == SddmmForm::kPipelined4)
    go(rows_kernel < PipelinedDot<FormTile<kLanes, kChunks, 4>>, kChunks == 1 ? 7 : 5 >);  // else it spills
  else if constexpr (kChunks == 2)
    go(rows_kernel<PipelinedDot<FormTile<kLanes, kChunks, 8>>, 4>);
}

}  // namespace

void run_sddmm_form(SddmmForm form, const Csr& a, const RodePlan& plan, const Tensor& weight,
                    const Tensor& b1, const Tensor& b2, const Tensor& out) {
  const std::int64_t n = b1.dim(1);
  check(has_sddmm_form(form, n) && is_aligned(b1) && is_aligned(b2), "[sddmm_form] no form for ", n,
        " columns");
  if (out.numel() == 0) return;
  DotArgs<float, float> args{};
  args.col = a.col.data<std::int32_t>();
  args.b1 = device_data<float>(b1);
  args.b2 = device_data<float>(b2);
  args.weight = device_data<float>(weight);
  args.k = args.b2_pitch = n;
  args.b1_row_bytes = args.b2_row_bytes = static_cast<std::uint32_t>(n * sizeof(float));
  args.chunks = static_cast<int>(n / 4);
  args.heads = args.warp_heads = 1;
  args.b1_is_aligned = true;
  args.out = device_data<float>(out);
  const Device device = out.device();
  if (n <= 32) return run_tile<8, 1>(form, args, plan, device);
  if (n <= 64) return run_tile<8, 2>(form, args, plan, device);
  if (n <= 128) return run_tile<32, 1>(form, args, plan, device);
  run_tile<32, 2>(form, args, plan, device);
}

}  // namespace rodeo::bench
