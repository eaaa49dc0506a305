// Neighbour sampling (ops/sample_neighbors.h).
#include <algorithm>

#include "ops/cpu/loops.h"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cpu {
namespace {

/// Floyd's algorithm: `count` different numbers of [0, degree), plus `begin`.
void sample_row(std::int64_t begin, std::int64_t degree, std::int64_t node, const SampleKey& key,
                std::int64_t count, std::int64_t* out) {
  for (std::int64_t j = 0; j < count; ++j) {
    const std::int64_t last = degree - count + j;
    const auto drawn = static_cast<std::int64_t>(
        key.draw(node, static_cast<std::uint64_t>(j), static_cast<std::uint64_t>(last + 1)));
    const bool taken = std::find(out, out + j, begin + drawn) != out + j;
    out[j] = begin + (taken ? last : drawn);
  }
}

}  // namespace

void sample_row_ptr(const Csr& a, const Tensor& targets, const Tensor& num_targets,
                    const SampleOptions& options, const Tensor& row_ptr) {
  const auto *begin = a.row_ptr.data<std::int64_t>(), *target = targets.data<std::int64_t>();
  auto* out = row_ptr.data<std::int64_t>();
  const std::int64_t count = *num_targets.data<std::int64_t>();
  out[0] = 0;
  for (std::int64_t i = 0; i < targets.numel(); ++i)
    out[i + 1] = out[i] + (i < count ? options.count(begin[target[i] + 1] - begin[target[i]]) : 0);
}

void sample_edges(const Csr& a, const Tensor& targets, const Tensor& num_targets,
                  const SampleOptions& options, const SampleKey& key, const Tensor& row_ptr,
                  const Tensor& edge_ids, const Tensor& sources) {
  const auto *begin = a.row_ptr.data<std::int64_t>(), *target = targets.data<std::int64_t>(),
             *to = row_ptr.data<std::int64_t>();
  auto* out = edge_ids.data<std::int64_t>();
  const auto* source = a.col.defined() ? a.col.data<std::int32_t>() : nullptr;
  auto* col = sources.data<std::int32_t>();
#pragma omp parallel for schedule(dynamic, 64)
  for (std::int64_t i = 0; i < *num_targets.data<std::int64_t>(); ++i) {
    const std::int64_t node = target[i], first = begin[node], degree = begin[node + 1] - first,
                       count = to[i + 1] - to[i];
    std::int64_t* row = out + to[i];
    if (options.replace)
      for (std::int64_t j = 0; j < count; ++j)
        row[j] = first + static_cast<std::int64_t>(key.draw(node, static_cast<std::uint64_t>(j),
                                                            static_cast<std::uint64_t>(degree)));
    else if (count == degree)
      for (std::int64_t j = 0; j < count; ++j) row[j] = first + j;
    else
      sample_row(first, degree, node, key, count, row);
    if (source)
      for (std::int64_t j = 0; j < count; ++j) col[to[i] + j] = source[row[j]];
  }
}

void number_sources(const Tensor& targets, const Tensor& num_targets, const Tensor& marks,
                    const NeighborSample& sample) {
  const auto* target = targets.data<std::int64_t>();
  auto *mark = marks.data<std::int32_t>(), *col = sample.col.data<std::int32_t>();
  auto* nodes = sample.nodes.data<std::int64_t>();
  const std::int64_t count = *num_targets.data<std::int64_t>(),
                     edges = sample.row_ptr.data<std::int64_t>()[targets.numel()];
  std::int32_t next = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    nodes[next] = target[i];
    mark[target[i]] = next++;
  }
  for (std::int64_t e = 0; e < edges; ++e) {
    const std::int32_t node = col[e];
    if (mark[node] == kUnmarked) {
      nodes[next] = node;
      mark[node] = next++;
    }
    col[e] = mark[node];
  }
  for (std::int32_t i = 0; i < next; ++i) mark[nodes[i]] = kUnmarked;
  *sample.num_nodes.data<std::int64_t>() = next;
}

void take_columns(const Csr& a, const Tensor& nodes, std::int64_t, const Tensor& col) {
  const auto* from = a.col.data<std::int32_t>();
  const auto* node = nodes.data<std::int64_t>();
  auto* to = col.data<std::int32_t>();
  for (std::int64_t e = 0; e < col.numel(); ++e) to[e] = static_cast<std::int32_t>(node[from[e]]);
}

}  // namespace rodeo::kernels::cpu
