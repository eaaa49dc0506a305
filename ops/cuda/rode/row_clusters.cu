// Clusters of rows on the GPU (ops/plan/row_clusters.h), equal to those of the host.
#include "ops/plan/row_clusters.h"

#include <cub/device/device_radix_sort.cuh>

#include "core/cuda/warp.cuh"
#include "core/node_partition.h"
#include "ops/cuda/device/scan.cuh"
#include "ops/kernels/sparse.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
static_assert(RowClusters::kSamples == kWarp);

__global__ void start_kernel(std::int32_t* value, std::int32_t* node, std::int64_t n) {
  RODEO_GRID_STRIDE(i, n) {
    value[i] = RowClusters::start(i);
    node[i] = static_cast<std::int32_t>(i);
  }
}

__global__ void cut_kernel(const std::int32_t* node, std::int32_t* part, std::int64_t n) {
  RODEO_GRID_STRIDE(i, n) part[node[i]] = static_cast<std::int32_t>(i * RowClusters::kClusters / n);
}

__global__ void narrow_kernel(const std::int32_t* value, std::uint8_t* out, std::int64_t n) {
  RODEO_GRID_STRIDE(i, n) out[i] = static_cast<std::uint8_t>(value[i]);
}

struct Mean {
  __device__ static std::int32_t combine(std::int32_t value, bool is_sample, std::int64_t count) {
    const std::int64_t sum = is_sample ? value : 0;
    return static_cast<std::int32_t>(sum_over(sum) / count);
  }
};

struct Vote {
  __device__ static std::int32_t combine(std::int32_t value, bool is_sample, std::int64_t) {
    const unsigned alike = __match_any_sync(kFullMask, is_sample ? value : -1);
    const unsigned vote = is_sample ? static_cast<unsigned>(__popc(alike)) * RowClusters::kClusters +
                                          static_cast<unsigned>(value)
                                    : 0;
    return static_cast<std::int32_t>(__reduce_max_sync(kFullMask, vote) % RowClusters::kClusters);
  }
};

// grid rows / warps of a block, block kThreads: a warp per row, a lane per sampled neighbour. Row 0 is node
// first_row.
template <class Rule>
__global__ void pass_kernel(const std::int64_t* row_ptr, const std::int32_t* col, const std::int32_t* now,
                            std::int32_t* next, std::int64_t rows, std::int64_t first_row) {
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  if (row >= rows) return;
  const int lane = threadIdx.x % kWarp;
  const std::int64_t begin = row_ptr[row], length = row_ptr[row + 1] - begin;
  const bool is_sample = lane < length;
  const std::int32_t value = is_sample ? now[col[RowClusters::sample(begin, length, lane)]] : 0;
  const std::int32_t result =
      length > 0 ? Rule::combine(value, is_sample, RowClusters::samples(length)) : now[first_row + row];
  if (lane == 0) next[row] = result;
}

}  // namespace

void cluster_rows(const Csr& a, const NodePartition* nodes, const Tensor& cluster) {
  const Device device = cluster.device();
  const std::int64_t n = a.cols, first_row = nodes ? nodes->first_row() : 0;
  const auto buffer = [&] { return Tensor::empty({n}, DType::kI32, device); };
  const auto data = [](const Tensor& t) { return t.data<std::int32_t>(); };
  Tensor now = buffer(), next = buffer(), node = buffer(), sorted_node = buffer();
  const auto pass = [&](const char* name, auto kernel) {
    const Tensor own = nodes ? next.slice(first_row, first_row + a.rows) : next;
    if (a.rows > 0)
      launch(name, device, kernel, dim3(static_cast<unsigned>(ceil_div(a.rows, kThreads / kWarp))), kThreads,
             0, a.row_ptr.data<std::int64_t>(), a.col.data<std::int32_t>(), data(now), data(own), a.rows,
             first_row);
    if (nodes) next = nodes->ranks().all_gather(own, nodes->rows());
    std::swap(now, next);
  };

  launch("cluster start", device, start_kernel, grid_for(n, kThreads), kThreads, 0, data(now), data(node), n);
  for (int step = 0; step < RowClusters::kMeans; ++step) pass("cluster mean", pass_kernel<Mean>);
  with_scratch("sort", device, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, data(now), data(next), data(node),
                                           data(sorted_node), n, 0, 32, Context::of(device).stream());
  });
  launch("cluster cut", device, cut_kernel, grid_for(n, kThreads), kThreads, 0, data(sorted_node), data(now),
         n);
  for (int step = 0; step < RowClusters::kVotes; ++step) pass("cluster vote", pass_kernel<Vote>);
  launch("cluster result", device, narrow_kernel, grid_for(n, kThreads), kThreads, 0, data(now),
         cluster.data<std::uint8_t>(), n);
}

}  // namespace rodeo::kernels::cuda
