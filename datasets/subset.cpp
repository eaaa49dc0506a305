#include "datasets/subset.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "datasets/reorder.h"

namespace rodeo {
namespace {

using Ids = std::vector<std::int64_t>;

/// Where each node goes; -1: nowhere.
std::vector<std::int32_t> new_ids(const Dataset& dataset, const Ids& nodes) {
  std::vector<std::int32_t> to(static_cast<std::size_t>(dataset.num_nodes), -1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    check(nodes[i] >= 0 && nodes[i] < dataset.num_nodes, "[select_nodes] node ", nodes[i], " is outside [0, ",
          dataset.num_nodes, ")");
    check(to[nodes[i]] < 0, "[select_nodes] node ", nodes[i], " is there twice");
    to[nodes[i]] = static_cast<std::int32_t>(i);
  }
  return to;
}

/// Rows of a matrix, or entries of a vector.
template <class T>
Tensor pick(const Tensor& values, const Ids& rows) {
  if (!values.defined()) return {};
  const auto count = static_cast<std::int64_t>(rows.size());
  const std::int64_t width = values.rank() == 2 ? values.dim(1) : 1;
  const Tensor out = Tensor::empty(values.rank() == 2 ? Shape{count, width} : Shape{count}, values.dtype());
#pragma omp parallel for
  for (std::int64_t i = 0; i < count; ++i)
    std::copy_n(values.data<T>() + rows[i] * width, width, out.data<T>() + i * width);
  return out;
}

/// Rows of a CSR: its indptr, and where in the old arrays each new entry was.
Ids pick_rows(const Tensor& indptr, const Ids& rows, Tensor& new_indptr) {
  const auto* p = indptr.data<std::int64_t>();
  Ids ptr{0}, entries;
  for (const std::int64_t row : rows) {
    for (std::int64_t e = p[row]; e < p[row + 1]; ++e) entries.push_back(e);
    ptr.push_back(static_cast<std::int64_t>(entries.size()));
  }
  new_indptr = Tensor::from(ptr);
  return entries;
}

void pick_list(const Dataset& from, const std::vector<std::int32_t>& to, Dataset& out) {
  const Tensor src = from.src.to(DType::kI32), dst = from.dst.to(DType::kI32);
  const auto *s = src.data<std::int32_t>(), *d = dst.data<std::int32_t>();
  std::int64_t kept = 0;
#pragma omp parallel for reduction(+ : kept)
  for (std::int64_t e = 0; e < src.numel(); ++e) kept += to[s[e]] >= 0 && to[d[e]] >= 0;
  out.src = Tensor::empty({kept}, DType::kI32);
  out.dst = Tensor::empty({kept}, DType::kI32);
  if (from.edge_weight.defined()) out.edge_weight = Tensor::empty({kept});
  std::int64_t next = 0;
  for (std::int64_t e = 0; e < src.numel(); ++e) {
    if (to[s[e]] < 0 || to[d[e]] < 0) continue;
    out.src.data<std::int32_t>()[next] = to[s[e]];
    out.dst.data<std::int32_t>()[next] = to[d[e]];
    if (from.edge_weight.defined()) out.edge_weight.data<float>()[next] = from.edge_weight.data<float>()[e];
    ++next;
  }
}

void pick_csr(const Dataset& from, const Ids& nodes, const std::vector<std::int32_t>& to, Dataset& out) {
  const Tensor indices = from.indices.to(DType::kI32);
  const auto* p = from.indptr.data<std::int64_t>();
  Ids ptr{0}, entries;
  for (const std::int64_t node : nodes) {
    for (std::int64_t e = p[node]; e < p[node + 1]; ++e)
      if (to[indices.data<std::int32_t>()[e]] >= 0) entries.push_back(e);
    ptr.push_back(static_cast<std::int64_t>(entries.size()));
  }
  out.indptr = Tensor::from(ptr);
  out.indices = pick<std::int32_t>(indices, entries);
  for (std::int64_t e = 0; e < out.indices.numel(); ++e) {
    auto& id = out.indices.data<std::int32_t>()[e];
    id = to[id];
  }
  out.edge_weight = pick<float>(from.edge_weight, entries);
}

Split pick_split(const Split& split, const std::vector<std::int32_t>& to) {
  const auto pick_part = [&](const Tensor& part) -> Tensor {
    if (!part.defined()) return {};
    Ids kept;
    for (const std::int64_t node : part.to_vector<std::int64_t>())
      if (to[node] >= 0) kept.push_back(to[node]);
    std::sort(kept.begin(), kept.end());
    return Tensor::from(kept);
  };
  return {pick_part(split.train), pick_part(split.val), pick_part(split.test)};
}

}  // namespace

Dataset select_nodes(const Dataset& dataset, const Tensor& nodes) {
  check(nodes.defined() && nodes.rank() == 1 && nodes.dtype() == DType::kI64 && nodes.device() == kCpu,
        "[select_nodes] nodes must be i64 [k] on the host");
  const Ids chosen = nodes.to_vector<std::int64_t>();
  const std::vector<std::int32_t> to = new_ids(dataset, chosen);
  Dataset out;
  out.name = dataset.name;
  out.num_nodes = nodes.numel();
  out.num_features = dataset.num_features;
  out.num_classes = dataset.num_classes;
  if (dataset.indptr.defined())
    pick_csr(dataset, chosen, to, out);
  else
    pick_list(dataset, to, out);
  out.x = pick<float>(dataset.x, chosen);
  if (dataset.x_sparse.defined()) {
    const Ids entries = pick_rows(dataset.x_sparse.indptr, chosen, out.x_sparse.indptr);
    out.x_sparse.indices = pick<std::int32_t>(dataset.x_sparse.indices, entries);
    out.x_sparse.data = pick<float>(dataset.x_sparse.data, entries);
  }
  out.y =
      dataset.multi_label() ? pick<std::uint8_t>(dataset.y, chosen) : pick<std::int64_t>(dataset.y, chosen);
  out.split = pick_split(dataset.split, to);
  for (const Split& split : dataset.splits) out.splits.push_back(pick_split(split, to));
  out.node_id = dataset.node_id.defined() ? pick<std::int64_t>(dataset.node_id, chosen) : nodes.clone();
  return out;
}

Tensor random_nodes(std::int64_t num_nodes, std::int64_t count, std::uint64_t seed) {
  check(count >= 0 && count <= num_nodes, "[random_nodes] count must be in [0, ", num_nodes, "], got ",
        count);
  Ids order = random_order(num_nodes, seed).to_vector<std::int64_t>();
  order.resize(static_cast<std::size_t>(count));
  std::sort(order.begin(), order.end());
  return Tensor::from(order);
}

}  // namespace rodeo
