// A group of kLanes lanes reads one row, kPacks 16-byte loads per lane, with 8 loads in flight per lane. The
// grid has many more blocks than are resident, so that all multiprocessors stay busy to the end.
#include "bench/gather_limit.h"
#include "core/cuda/launch.cuh"

namespace rodeo::bench {
namespace {

using namespace rodeo::cuda;

constexpr int kThreads = 256;
constexpr int kBlocksPerMultiprocessor = 64;
constexpr int kLoadsInFlight = 8;
constexpr std::int64_t kBytes = std::int64_t{4} << 30;

// The finalizer of MurmurHash3: every bit of i changes half of the bits of the result.
__device__ __forceinline__ std::uint32_t hash(std::uint32_t i) {
  i = (i ^ i >> 16) * 0x85ebca6bu;
  i = (i ^ i >> 13) * 0xc2b2ae35u;
  return i ^ i >> 16;
}

// grid: any number of blocks; block: kThreads. out [threads of the grid] keeps the loads from being dropped.
template <int kLanes, int kPacks>
__global__ void __launch_bounds__(kThreads, 4)
    gather_rows(const uint4* table, std::uint32_t rows, int steps, std::uint32_t* out) {
  constexpr int kRows = kLoadsInFlight / kPacks;
  const std::uint32_t thread = blockIdx.x * kThreads + threadIdx.x;
  const std::uint32_t member = thread % kLanes, groups = gridDim.x * kThreads / kLanes;
  std::uint32_t next = thread / kLanes;
  uint4 sum = make_uint4(0, 0, 0, 0);
  for (int step = 0; step < steps; ++step) {
    uint4 value[kRows][kPacks];
#pragma unroll
    for (int r = 0; r < kRows; ++r, next += groups) {
      const std::int64_t row = __umulhi(hash(next), rows);
#pragma unroll
      for (int p = 0; p < kPacks; ++p)
        value[r][p] = __ldg(table + row * (kLanes * kPacks) + p * kLanes + member);
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r)
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        sum.x ^= value[r][p].x, sum.y ^= value[r][p].y;
        sum.z ^= value[r][p].z, sum.w ^= value[r][p].w;
      }
  }
  out[thread] = sum.x ^ sum.y ^ sum.z ^ sum.w;
}

template <int kLanes, int kPacks>
std::int64_t run(const Tensor& table) {
  constexpr std::int64_t kStepBytes = kThreads * kLoadsInFlight * sizeof(uint4);  // of a block
  const int blocks = Context::of(table.device()).num_multiprocessors() * kBlocksPerMultiprocessor;
  const int steps = static_cast<int>(ceil_div(kBytes, blocks * kStepBytes));
  const Tensor out = Tensor::empty({std::int64_t{blocks} * kThreads}, DType::kI32, table.device());
  launch("gather_rows", table.device(), gather_rows<kLanes, kPacks>, dim3(blocks), dim3(kThreads), 0,
         static_cast<const uint4*>(table.raw()),
         static_cast<std::uint32_t>(table.nbytes() / (kLanes * kPacks * 16)), steps,
         static_cast<std::uint32_t*>(out.raw()));
  return blocks * kStepBytes * steps;
}

}  // namespace

std::int64_t gather_random_rows(const Tensor& table, int row_bytes) {
  switch (row_bytes) {
    case 32:
      return run<2, 1>(table);
    case 64:
      return run<4, 1>(table);
    case 128:
      return run<8, 1>(table);
    case 256:
      return run<16, 1>(table);
    case 512:
      return run<32, 1>(table);
    case 1024:
      return run<32, 2>(table);
    default:
      fail("[gather_random_rows] no kernel for rows of ", row_bytes, " bytes");
  }
}

}  // namespace rodeo::bench
