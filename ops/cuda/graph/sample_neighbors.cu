// Neighbour sampling (ops/sample_neighbors.h). Sizes stay on the device: grids are made for capacities.
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_scan.cuh>

#include "core/cuda/index_fault.cuh"
#include "ops/cuda/device/scan.cuh"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// out[i] = the sum of value(0) .. value(i - 1). The values are computed as the scan reads them.
template <class Value, class T>
void scan_of(const char* name, Value value, T* out, std::int64_t n, Device device) {
  const auto values = thrust::make_transform_iterator(thrust::make_counting_iterator<std::int64_t>(0), value);
  with_scratch(name, device, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(scratch, bytes, values, out, n, Context::of(device).stream());
  });
}

// Grid grid_for(t, kThreads), block kThreads: a thread a target. A scan that computed its inputs would wait
// for these reads tile by tile.
__global__ void sample_counts_kernel(const std::int64_t* begin, const std::int64_t* target,
                                     const std::int64_t* num_targets, std::int64_t t, SampleOptions options,
                                     std::int64_t* counts) {
  const std::int64_t used = *num_targets;
  RODEO_GRID_STRIDE(i, t) {
    std::int64_t count = 0;
    if (i < used) count = options.count(begin[target[i] + 1] - begin[target[i]]);
    counts[i] = count;
  }
}

// What the kernels that sample edges read and write.
struct Sampling {
  const std::int64_t* begin;   // of the graph's rows
  const std::int32_t* source;  // of the graph's edges; null: other ranks have them
  const std::int64_t *target, *num_targets;
  SampleKey key;
  const std::int64_t* row_ptr;
  std::int64_t* edge;
  std::int32_t* col;  // the node of each source
};

// Floyd's algorithm: `count` different numbers of [0, degree), plus `first`. A warp draws 32 numbers at a
// time and compares each with those that are already in `out`.
__device__ void sample_row(std::int64_t first, std::int64_t degree, std::int64_t node, const SampleKey& key,
                           std::int64_t count, std::int64_t* out) {
  const int lane = threadIdx.x % kWarp;
  std::int64_t drawn = 0;
  for (std::int64_t j = 0; j < count; ++j) {
    const std::int64_t last = degree - count + j;
    if (j % kWarp == 0)
      drawn = static_cast<std::int64_t>(
          key.draw(node, static_cast<std::uint64_t>(j + lane), static_cast<std::uint64_t>(last + lane + 1)));
    const std::int64_t edge = first + __shfl_sync(kFullMask, drawn, static_cast<int>(j % kWarp));
    bool taken = false;
    for (std::int64_t i = lane; i < j; i += kWarp) taken |= out[i] == edge;
    taken = __any_sync(kFullMask, taken);
    if (lane == 0) out[j] = taken ? first + last : edge;
    __syncwarp();
  }
}

// Grid (rows / warps of a block), block kThreads: a warp a target.
__global__ void sample_edges_kernel(Sampling s, bool replace) {
  const std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  if (i >= *s.num_targets) return;
  const int lane = threadIdx.x % kWarp;
  const std::int64_t node = s.target[i], first = s.begin[node], degree = s.begin[node + 1] - first,
                     count = s.row_ptr[i + 1] - s.row_ptr[i];
  std::int64_t* out = s.edge + s.row_ptr[i];
  if (replace)
    for (std::int64_t j = lane; j < count; j += kWarp)
      out[j] = first + static_cast<std::int64_t>(s.key.draw(node, static_cast<std::uint64_t>(j),
                                                            static_cast<std::uint64_t>(degree)));
  else if (count == degree)
    for (std::int64_t j = lane; j < count; j += kWarp) out[j] = first + j;
  else
    sample_row(first, degree, node, s.key, count, out);
  if (!s.source) return;
  __syncwarp();
  for (std::int64_t j = lane; j < count; j += kWarp) s.col[s.row_ptr[i] + j] = s.source[out[j]];
}

// Samples without replacement for `fanout` <= kLanes: a group of kLanes lanes a target, lane j holds edge j.
// Grid (rows / groups of a block), block kThreads.
template <int kLanes>
__global__ void sample_few_edges_kernel(Sampling s, int fanout) {
  const std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kLanes;
  const int lane = threadIdx.x % kLanes;
  const unsigned group = (kFullMask >> (kWarp - kLanes)) << (threadIdx.x % kWarp - lane);
  std::int64_t node = 0, first = 0, degree = 0, at = 0;
  int count = 0;
  if (i < *s.num_targets) {
    node = s.target[i], first = s.begin[node], degree = s.begin[node + 1] - first;
    at = s.row_ptr[i], count = static_cast<int>(s.row_ptr[i + 1] - at);
  }
  const bool whole = count == degree;
  std::int64_t chosen = lane, drawn = 0;
  if (!whole && lane < count)
    drawn = static_cast<std::int64_t>(s.key.draw(node, static_cast<std::uint64_t>(lane),
                                                 static_cast<std::uint64_t>(degree - count + lane + 1)));
  if (__any_sync(kFullMask, !whole))
    for (int j = 0; j < fanout; ++j) {
      const std::int64_t candidate = __shfl_sync(kFullMask, drawn, j, kLanes);
      const unsigned taken = __ballot_sync(kFullMask, lane < j && chosen == candidate) & group;
      if (lane == j && !whole) chosen = taken ? degree - count + j : candidate;
    }
  if (lane >= count) return;
  s.edge[at + lane] = first + chosen;
  if (s.source) s.col[at + lane] = s.source[first + chosen];
}

// What the kernels that number sources read and write. A mark is a target's number, or else t + the position
// of the first sampled edge from the node.
struct Numbering {
  const std::int64_t *target, *num_targets, *num_edges;
  std::int64_t t, capacity;
  std::int32_t* mark;
  std::int32_t* new_before;  // [capacity + 1]: edges before this one that are the first from a new node
  std::int32_t* col;         // the node of each source; then its number
  std::int64_t *nodes, *num_nodes;
};

struct IsFirst {
  Numbering n;
  __device__ std::int32_t operator()(std::int64_t e) const {
    return e < *n.num_edges && n.mark[n.col[e]] == n.t + e;
  }
};

// Grids grid_for(t or capacity, kThreads), block kThreads: a thread a target or an edge.
__global__ void mark_targets_kernel(Numbering n) {
  const std::int64_t used = *n.num_targets;
  RODEO_GRID_STRIDE(i, n.t) {
    if (i >= used) return;
    n.nodes[i] = n.target[i];
    n.mark[n.target[i]] = static_cast<std::int32_t>(i);
  }
}
__global__ void mark_sources_kernel(Numbering n) {
  const std::int64_t edges = *n.num_edges;
  RODEO_GRID_STRIDE(e, n.capacity) {
    if (e >= edges) return;
    atomicMin(n.mark + n.col[e], static_cast<std::int32_t>(n.t + e));
  }
}
__global__ void number_sources_kernel(Numbering n) {
  const std::int64_t edges = *n.num_edges, targets = *n.num_targets;
  RODEO_GRID_STRIDE(e, n.capacity) {
    if (e == 0) *n.num_nodes = targets + n.new_before[n.capacity];
    if (e >= edges) return;
    const std::int32_t node = n.col[e], mark = n.mark[node];
    const std::int64_t number = mark < n.t ? mark : targets + n.new_before[mark - n.t];
    n.col[e] = static_cast<std::int32_t>(number);
    if (mark == n.t + e) n.nodes[number] = node;
  }
}
// Grid grid_for(edges, kThreads), block kThreads: a thread an edge.
__global__ void take_columns_kernel(const std::int32_t* from, const std::int64_t* nodes, std::int64_t limit,
                                    std::int32_t* to, std::int64_t edges, IndexCheck check) {
  RODEO_GRID_STRIDE(e, edges) {
    const std::int64_t source = from[e], node = nodes[source];
    to[e] = is_index(node, limit, source, check) ? static_cast<std::int32_t>(node) : 0;
  }
}
// Grid grid_for(t + capacity, kThreads): a thread a source.
__global__ void unmark_kernel(Numbering n) {
  const std::int64_t nodes = *n.num_nodes;
  RODEO_GRID_STRIDE(i, n.t + n.capacity) {
    if (i >= nodes) return;
    n.mark[n.nodes[i]] = kUnmarked;
  }
}

}  // namespace

void sample_row_ptr(const Csr& a, const Tensor& targets, const Tensor& num_targets,
                    const SampleOptions& options, const Tensor& row_ptr) {
  launch("sample_row_ptr", targets.device(), sample_counts_kernel, grid_for(targets.numel(), kThreads),
         kThreads, 0, a.row_ptr.data<std::int64_t>(), targets.data<std::int64_t>(),
         num_targets.data<std::int64_t>(), targets.numel(), options, row_ptr.data<std::int64_t>());
  exclusive_scan(row_ptr);
}

void sample_edges(const Csr& a, const Tensor& targets, const Tensor& num_targets,
                  const SampleOptions& options, const SampleKey& key, const Tensor& row_ptr,
                  const Tensor& edge_ids, const Tensor& sources) {
  const Sampling s{a.row_ptr.data<std::int64_t>(),
                   a.col.defined() ? a.col.data<std::int32_t>() : nullptr,
                   targets.data<std::int64_t>(),
                   num_targets.data<std::int64_t>(),
                   key,
                   row_ptr.data<std::int64_t>(),
                   edge_ids.data<std::int64_t>(),
                   sources.data<std::int32_t>()};
  const auto grid = [&](int lanes) {
    return dim3(static_cast<unsigned>(ceil_div(targets.numel(), kThreads / lanes)));
  };
  const auto few = [&](void (*kernel)(Sampling, int), int lanes) {
    launch("sample_edges", targets.device(), kernel, grid(lanes), kThreads, 0, s,
           static_cast<int>(options.fanout));
  };
  if (options.replace || options.fanout == kAllNeighbors || options.fanout > kWarp)
    launch("sample_edges", targets.device(), sample_edges_kernel, grid(kWarp), kThreads, 0, s,
           options.replace);
  else if (options.fanout <= 8)
    few(sample_few_edges_kernel<8>, 8);
  else if (options.fanout <= 16)
    few(sample_few_edges_kernel<16>, 16);
  else
    few(sample_few_edges_kernel<32>, 32);
}

void number_sources(const Tensor& targets, const Tensor& num_targets, const Tensor& marks,
                    const NeighborSample& sample) {
  const Device device = targets.device();
  const std::int64_t t = targets.numel(), capacity = sample.col.numel();
  const Tensor new_before = Tensor::empty({capacity + 1}, DType::kI32, device);
  const Numbering n{targets.data<std::int64_t>(),
                    num_targets.data<std::int64_t>(),
                    sample.row_ptr.data<std::int64_t>() + t,
                    t,
                    capacity,
                    marks.data<std::int32_t>(),
                    new_before.data<std::int32_t>(),
                    sample.col.data<std::int32_t>(),
                    sample.nodes.data<std::int64_t>(),
                    sample.num_nodes.data<std::int64_t>()};
  const auto run = [&](void (*kernel)(Numbering), std::int64_t size) {
    launch("number_sources", device, kernel, grid_for(size, kThreads), kThreads, 0, n);
  };
  run(mark_targets_kernel, t);
  if (capacity == 0) {
    sample.num_nodes.copy_from(num_targets);
  } else {
    run(mark_sources_kernel, capacity);
    scan_of("number_sources", IsFirst{n}, n.new_before, capacity + 1, device);
    run(number_sources_kernel, capacity);
  }
  run(unmark_kernel, t + capacity);
}

void take_columns(const Csr& a, const Tensor& nodes, std::int64_t limit, const Tensor& col) {
  launch("take_columns", col.device(), take_columns_kernel, grid_for(col.numel(), kThreads), kThreads, 0,
         a.col.data<std::int32_t>(), nodes.data<std::int64_t>(), limit, col.data<std::int32_t>(), col.numel(),
         index_check(col.device(), "sage_concat", "index"));
}

}  // namespace rodeo::kernels::cuda
