#include "datasets/subset.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "datasets/reorder.h"

namespace rodeo {
namespace {

using Ids = std::vector<std::int64_t>;

/// The new id of each node; -1 if it is not selected.
std::vector<std::int32_t> new_ids(const Dataset& dataset, const Ids& nodes) {
  std::vector<std::int32_t> to(static_cast<std::size_t>(dataset.num_nodes), -1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    check(nodes[i] >= 0 && nodes[i] < dataset.num_nodes, "[select_nodes] node ", nodes[i], " is outside [0, ",
          dataset.num_nodes, ")");
    check(to[nodes[i]] < 0, "[select_nodes] node ", nodes[i], " is a duplicate");
    to[nodes[i]] = static_cast<std::int32_t>(i);
  }
  return to;
}

/// Selected rows of a matrix, or entries of a vector.
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

/// Selects rows of a CSR: makes the new indptr and returns the old position of each new entry.
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
  // The edges are split into parts; at[part] is the position of its first selected edge in the result.
  constexpr int kParts = 64;
  const auto begin = [&](int part) { return src.numel() * part / kParts; };
  const auto keeps = [&](std::int64_t e) { return to[s[e]] >= 0 && to[d[e]] >= 0; };
  Ids at(kParts + 1, 0);
#pragma omp parallel for
  for (int part = 0; part < kParts; ++part) {
    std::int64_t kept = 0;
    for (std::int64_t e = begin(part); e < begin(part + 1); ++e) kept += keeps(e);
    at[static_cast<std::size_t>(part) + 1] = kept;
  }
  std::partial_sum(at.begin(), at.end(), at.begin());
  out.src = Tensor::empty({at.back()}, DType::kI32);
  out.dst = Tensor::empty({at.back()}, DType::kI32);
  if (from.edge_weight.defined()) out.edge_weight = Tensor::empty({at.back()});
  auto *new_s = out.src.data<std::int32_t>(), *new_d = out.dst.data<std::int32_t>();
#pragma omp parallel for
  for (int part = 0; part < kParts; ++part) {
    std::int64_t next = at[static_cast<std::size_t>(part)];
    for (std::int64_t e = begin(part); e < begin(part + 1); ++e) {
      if (!keeps(e)) continue;
      new_s[next] = to[s[e]];
      new_d[next] = to[d[e]];
      if (from.edge_weight.defined()) out.edge_weight.data<float>()[next] = from.edge_weight.data<float>()[e];
      ++next;
    }
  }
}

void pick_csr(const Dataset& from, const Ids& nodes, const std::vector<std::int32_t>& to, Dataset& out) {
  const Tensor indices = from.indices.to(DType::kI32);
  const auto* p = from.indptr.data<std::int64_t>();
  const auto* id = indices.data<std::int32_t>();
  const auto count = static_cast<std::int64_t>(nodes.size());
  Ids ptr(nodes.size() + 1, 0);
#pragma omp parallel for schedule(dynamic, 1024)
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t e = p[nodes[i]]; e < p[nodes[i] + 1]; ++e) ptr[i + 1] += to[id[e]] >= 0;
  std::partial_sum(ptr.begin(), ptr.end(), ptr.begin());
  out.indptr = Tensor::from(ptr);
  out.indices = Tensor::empty({ptr.back()}, DType::kI32);
  if (from.edge_weight.defined()) out.edge_weight = Tensor::empty({ptr.back()});
#pragma omp parallel for schedule(dynamic, 1024)
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t next = ptr[i];
    for (std::int64_t e = p[nodes[i]]; e < p[nodes[i] + 1]; ++e) {
      if (to[id[e]] < 0) continue;
      out.indices.data<std::int32_t>()[next] = to[id[e]];
      if (from.edge_weight.defined()) out.edge_weight.data<float>()[next] = from.edge_weight.data<float>()[e];
      ++next;
    }
  }
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
  check(!dataset.graph_ptr.defined() && !dataset.edge_attr.defined(),
        "[select_nodes] a set of graphs, or a graph with edge features, keeps the order of its nodes and all "
        "of them");
  for (const Tensor* part :
       {&dataset.src, &dataset.indptr, &dataset.edge_weight, &dataset.x, &dataset.x_sparse.indptr})
    check(!part->defined() || part->device() == kCpu, "[select_nodes] the dataset must be on the host, got ",
          part->device());
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
  out.y = dataset.multi_label()  ? pick<std::uint8_t>(dataset.y, chosen)
          : dataset.regression() ? pick<float>(dataset.y, chosen)
                                 : pick<std::int64_t>(dataset.y, chosen);
  out.split = pick_split(dataset.split, to);
  for (const Split& split : dataset.splits) out.splits.push_back(pick_split(split, to));
  out.node_id = dataset.node_id.defined() ? pick<std::int64_t>(dataset.node_id, chosen) : nodes.clone();
  out.class_names = dataset.class_names;
  if (!dataset.node_names.empty())
    for (const std::int64_t node : chosen)
      out.node_names.push_back(dataset.node_names[static_cast<std::size_t>(node)]);
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
