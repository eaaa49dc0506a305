// Neighbour sampling (ops/sample_neighbors.h). Sizes stay on the device: grids are made for capacities.
#include "core/cuda/index_fault.cuh"
#include "ops/cuda/device/scan.cuh"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// Grid grid_for(t, kThreads), block kThreads: a thread a target.
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
__global__ void sample_edges_kernel(const std::int64_t* begin, const std::int64_t* target,
                                    const std::int64_t* num_targets, bool replace, SampleKey key,
                                    const std::int64_t* row_ptr, std::int64_t* edge_ids) {
  const std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  if (i >= *num_targets) return;
  const int lane = threadIdx.x % kWarp;
  const std::int64_t node = target[i], first = begin[node], degree = begin[node + 1] - first,
                     count = row_ptr[i + 1] - row_ptr[i];
  std::int64_t* out = edge_ids + row_ptr[i];
  if (replace)
    for (std::int64_t j = lane; j < count; j += kWarp)
      out[j] = first + static_cast<std::int64_t>(
                           key.draw(node, static_cast<std::uint64_t>(j), static_cast<std::uint64_t>(degree)));
  else if (count == degree)
    for (std::int64_t j = lane; j < count; j += kWarp) out[j] = first + j;
  else
    sample_row(first, degree, node, key, count, out);
}

// What the kernels that number sources read and write. A mark is a target's number, or else t + the position
// of the first sampled edge from the node.
struct Numbering {
  const std::int32_t* source;  // of the graph's edges
  const std::int64_t *target, *num_targets, *num_edges, *edge;
  std::int64_t t, capacity;
  std::int32_t* mark;
  std::int64_t* firsts;  // [capacity + 1]: 1 for the first edge of a new node; then scanned
  std::int32_t* col;
  std::int64_t *nodes, *num_nodes;
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
    atomicMin(n.mark + n.source[n.edge[e]], static_cast<std::int32_t>(n.t + e));
  }
}
__global__ void find_firsts_kernel(Numbering n) {
  const std::int64_t edges = *n.num_edges;
  RODEO_GRID_STRIDE(e, n.capacity)
  n.firsts[e] = e < edges && n.mark[n.source[n.edge[e]]] == n.t + e;
}
__global__ void number_sources_kernel(Numbering n) {
  const std::int64_t edges = *n.num_edges, targets = *n.num_targets;
  RODEO_GRID_STRIDE(e, n.capacity) {
    if (e == 0) *n.num_nodes = targets + n.firsts[n.capacity];
    if (e >= edges) return;
    const std::int32_t node = n.source[n.edge[e]], mark = n.mark[node];
    const std::int64_t number = mark < n.t ? mark : targets + n.firsts[mark - n.t];
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
                  const Tensor& edge_ids) {
  launch("sample_edges", targets.device(), sample_edges_kernel,
         dim3(static_cast<unsigned>(ceil_div(targets.numel(), kThreads / kWarp))), kThreads, 0,
         a.row_ptr.data<std::int64_t>(), targets.data<std::int64_t>(), num_targets.data<std::int64_t>(),
         options.replace, key, row_ptr.data<std::int64_t>(), edge_ids.data<std::int64_t>());
}

void number_sources(const Csr& a, const Tensor& targets, const Tensor& num_targets, const Tensor& marks,
                    const NeighborSample& sample) {
  const Device device = targets.device();
  const std::int64_t t = targets.numel(), capacity = sample.col.numel();
  const Tensor firsts = Tensor::zeros({capacity + 1}, DType::kI64, device);
  const Numbering n{a.col.data<std::int32_t>(),
                    targets.data<std::int64_t>(),
                    num_targets.data<std::int64_t>(),
                    sample.row_ptr.data<std::int64_t>() + t,
                    sample.edge_ids.data<std::int64_t>(),
                    t,
                    capacity,
                    marks.data<std::int32_t>(),
                    firsts.data<std::int64_t>(),
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
    run(find_firsts_kernel, capacity);
    exclusive_scan(firsts);
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
