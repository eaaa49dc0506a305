// Metrics of scores (ops/ranking.h): radix sorts both sets, then searches each positive in them.
#include <cub/device/device_radix_sort.cuh>

#include "ops/cuda/device/block_sum.cuh"
#include "ops/cuda/device/scan.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/pairs.h"
#include "ops/kernels/score_key.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kParts = 256;  // blocks of the first pass and threads of the second: fixes the order of sums
constexpr int kMetrics = 4;

// Grid-stride over the scores, block kThreads.
template <class T>
__global__ void score_keys_kernel(const T* score, std::int64_t n, std::uint64_t* key) {
  RODEO_GRID_STRIDE(i, n) key[i] = score_key(score[i]);
}

// Sums of the terms of the positives. Grid kParts, block kThreads. parts [4, kParts]
__global__ void ranking_parts_kernel(const std::uint64_t* positive, std::int64_t p,
                                     const std::uint64_t* negative, std::int64_t q, std::int64_t hits,
                                     double* parts) {
  RankingTerms sum{0, 0, 0, 0};
  RODEO_GRID_STRIDE(i, p) {
    const RankingTerms terms = ranking_terms(positive[i], positive, p, negative, q, hits);
    sum.auc += terms.auc, sum.ap += terms.ap, sum.mrr += terms.mrr, sum.hits += terms.hits;
  }
  const double sums[4] = {block_sum<kThreads>(sum.auc), block_sum<kThreads>(sum.ap),
                          block_sum<kThreads>(sum.mrr), block_sum<kThreads>(sum.hits)};
  if (threadIdx.x == 0)
    for (int m = 0; m < 4; ++m) parts[m * kParts + blockIdx.x] = sums[m];
}

// Adds the parts. One block of kParts threads.
template <class T>
__global__ void ranking_total_kernel(const double* parts, const std::uint64_t* positive, std::int64_t p,
                                     const std::uint64_t* negative, std::int64_t q, double* metrics) {
  const bool nan = is_nan_key<T>(positive[p - 1]) || is_nan_key<T>(negative[q - 1]);
  for (int m = 0; m < 4; ++m) {
    const double sum = block_sum<kParts>(parts[m * kParts + threadIdx.x]);
    const double count = static_cast<double>(p) * (m == 0 ? static_cast<double>(q) : 1.0);
    if (threadIdx.x == 0) metrics[m] = nan ? NAN : sum / count;
  }
}

// u64 [n], ascending.
template <class T>
Tensor sorted_keys(const Tensor& scores) {
  const Device device = scores.device();
  const std::int64_t n = scores.numel();
  const Tensor keys = Tensor::empty({n}, DType::kI64, device),
               sorted = Tensor::empty({n}, DType::kI64, device);
  auto *key = static_cast<std::uint64_t*>(keys.raw()), *out = static_cast<std::uint64_t*>(sorted.raw());
  launch("score_keys", device, score_keys_kernel<T>, grid_for(n, kThreads), kThreads, 0, scores.data<T>(), n,
         key);
  with_scratch("sort scores", device, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(scratch, bytes, key, out, n, 0, kScoreBits<T>,
                                          Context::of(device).stream());
  });
  return sorted;
}

}  // namespace

void ranking_metrics(const Tensor& positive, const Tensor& negative, std::int64_t hits,
                     const Tensor& metrics) {
  const auto run = [&]<class T>(T) {
    const Tensor up = sorted_keys<T>(positive), down = sorted_keys<T>(negative);
    const Tensor parts = Tensor::empty({kMetrics, kParts}, DType::kF64, metrics.device());
    const auto *ups = static_cast<const std::uint64_t*>(up.raw()),
               *downs = static_cast<const std::uint64_t*>(down.raw());
    launch("ranking_metrics", metrics.device(), ranking_parts_kernel, dim3(kParts), kThreads, 0, ups,
           up.numel(), downs, down.numel(), hits, parts.data<double>());
    launch("ranking_metrics", metrics.device(), ranking_total_kernel<T>, dim3(1), kParts, 0,
           parts.data<double>(), ups, up.numel(), downs, down.numel(), metrics.data<double>());
  };
  if (positive.dtype() == DType::kF64)
    run(double{});
  else
    run(float{});
}

}  // namespace rodeo::kernels::cuda
