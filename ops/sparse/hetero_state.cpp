#include "ops/sparse/hetero_state.h"

#include <algorithm>
#include <numeric>

#include "ops/id_ranges.h"
#include "ops/sample_types.h"
#include "ops/sparse/derived.h"
#include "ops/sparse/row_order.h"

namespace rodeo {

void HeteroSide::number(const Ranges& edges) {
  relations.resize(static_cast<std::size_t>(nodes.count()));
  numbers.resize(type.size());
  for (std::size_t r = 0; r < type.size(); ++r)
    if (edges.size(static_cast<int>(r)) > 0)
      relations[static_cast<std::size_t>(type[r])].push_back(static_cast<int>(r));
  for (std::size_t t = 0; t < relations.size(); ++t) {
    const std::int64_t step = std::ssize(relations[t]);
    for (std::int64_t i = 0; i < step; ++i)
      numbers[static_cast<std::size_t>(relations[t][static_cast<std::size_t>(i)])] = {total + i, step};
    total += step * nodes.size(static_cast<int>(t));
  }
}

Tensor HeteroState::ends(const HeteroSide& side, bool by_relation) const {
  const Tensor all = Tensor::empty({edges.total()}, DType::kI32, device);
  for (std::size_t r = 0; r < relations.size(); ++r) {
    const Tensor& ids = &side == &dst ? relations[r].dst_ids : relations[r].src_ids;
    const NodeNumbers numbers =
        by_relation ? side.numbers[r] : NodeNumbers{side.nodes.begin(side.type[r]), 1};
    const std::int64_t id_0 = side.first[static_cast<std::size_t>(side.type[r])];
    const std::int64_t first = edges.begin(static_cast<int>(r));
    number_ids(ids.to(device), numbers.begin - id_0 * numbers.step, numbers.step,
               all.slice(first, first + ids.numel()));
  }
  return all;
}

Adjacency HeteroState::make_matrix(Csr csr) const {
  Adjacency adj = Adjacency::trusted(std::move(csr));
  if (used_once) assume_no_locality(adj);
  return adj;
}

kernels::SortedEdges HeteroState::sort_edges(bool rows_by_relation, bool cols_by_relation,
                                             bool edge_ids) const {
  // Ids are in range already: they are not checked again, which would wait for the device.
  return kernels::coo_to_csr.on(device)(ends(dst, rows_by_relation), ends(src, cols_by_relation),
                                        rows_by_relation ? dst.total : dst.nodes.total(),
                                        cols_by_relation ? src.total : src.nodes.total(),
                                        {.edge_ids = edge_ids});
}

const Adjacency& HeteroState::matrix(bool rows_by_relation, bool cols_by_relation) {
  Adjacency& kept = matrices[{rows_by_relation, cols_by_relation}];
  if (kept.defined()) return kept;
  kernels::SortedEdges sorted = sort_edges(rows_by_relation, cols_by_relation, used_once);
  kept = make_matrix(std::move(sorted.csr));
  if (used_once)  // it lives for a step: no second sort
    ids[{rows_by_relation, cols_by_relation}] = sorted.edge_ids;
  return kept;
}

const Tensor& HeteroState::edge_ids(bool rows_by_relation, bool cols_by_relation) {
  Tensor& kept = ids[{rows_by_relation, cols_by_relation}];
  if (!kept.defined()) kept = sort_edges(rows_by_relation, cols_by_relation, true).edge_ids;
  return kept;
}

const Adjacency& HeteroState::order(HeteroSide& side) const {
  std::vector<std::int32_t> sorted;
  for (const std::vector<int>& of_type : side.relations)
    sorted.insert(sorted.end(), of_type.begin(), of_type.end());
  if (side.order.defined() || (sorted.size() == relations.size() && std::ranges::is_sorted(sorted)))
    return side.order;
  std::vector<std::int64_t> row_ptr(sorted.size() + 1);  // a one in each row
  std::iota(row_ptr.begin(), row_ptr.end(), 0);
  side.order = make_matrix({std::ssize(sorted), std::ssize(relations), Tensor::from(row_ptr, device),
                            Tensor::from(sorted, device)});
  return side.order;
}

const Adjacency& HeteroState::sums() {
  if (sum_relations.defined()) return sum_relations;
  const Tensor row_ptr =
                   Tensor::full({dst.nodes.total() + 1}, static_cast<double>(dst.total), DType::kI64, device),
               col = Tensor::empty({dst.total}, DType::kI32, device);
  std::int64_t begin = 0;
  for (std::size_t t = 0; t < types.size(); ++t) {
    const std::int64_t first = dst.nodes.begin(static_cast<int>(t)),
                       count = dst.nodes.size(static_cast<int>(t)), step = std::ssize(dst.relations[t]);
    number_ids({}, begin, step, row_ptr.slice(first, first + count));
    begin += count * step;
  }
  number_ids({}, 0, 1, col);
  sum_relations = make_matrix({dst.nodes.total(), dst.total, row_ptr, col});
  return sum_relations;
}

const ReadSources& HeteroState::read_sources() {
  if (read.blocks.defined()) return read;
  // Ids of (relation, source) pairs. Sources are numbered by their first edge, and so relation by relation.
  std::vector<std::int64_t> first{0};
  const Tensor col = Tensor::empty({edges.total()}, DType::kI32, device);
  for (int r = 0; r < edges.count(); ++r) {
    const std::int64_t begin = edges.begin(r), count = edges.size(r);
    number_ids(relations[static_cast<std::size_t>(r)].src_ids.to(device), first.back(), 1,
               col.slice(begin, begin + count));
    first.push_back(first.back() + (count > 0 ? src.nodes.size(src.type[static_cast<std::size_t>(r)]) : 0));
  }
  const auto numbers = [&](std::int64_t n, double value, DType dtype) {
    return Tensor::full({n}, value, dtype, device);
  };
  const NeighborSample numbered{.row_ptr = numbers(1, static_cast<double>(edges.total()), DType::kI64),
                                .col = col,
                                .edge_ids = {},
                                .nodes = Tensor::empty({edges.total()}, DType::kI64, device),
                                .num_nodes = numbers(1, 0, DType::kI64)};
  kernels::number_sources.on(device)(Tensor::empty({0}, DType::kI64, device), numbers(1, 0, DType::kI64),
                                     numbers(first.back(), kUnmarked, DType::kI32), numbered);
  read.nodes = numbered.nodes.slice(0, static_cast<std::int64_t>(numbered.num_nodes.item()));
  const std::vector<std::int64_t> begins = group_by_range(read.nodes, first).begin;
  for (int r = 0; r < edges.count(); ++r) {
    const std::int64_t begin = begins[static_cast<std::size_t>(r)],
                       end = begins[static_cast<std::size_t>(r) + 1];
    const Tensor nodes = read.nodes.slice(begin, end);
    number_ids(nodes,
               src.nodes.begin(src.type[static_cast<std::size_t>(r)]) - first[static_cast<std::size_t>(r)], 1,
               nodes);
    read.relations.push_back({begin, begin, end - begin});
  }
  read.blocks = make_matrix(
      kernels::coo_to_csr.on(device)(ends(dst, true), col, dst.total, read.nodes.numel(), {}).csr);
  return read;
}

const EdgeMeans& HeteroState::means_of(bool rows_by_relation, DType dtype) {
  EdgeMeans& kept = means[{rows_by_relation, dtype}];
  if (kept.weight.defined()) return kept;
  const bool cols_by_relation = !rows_by_relation;
  const auto shares = [&](const Csr& by_target) {
    const Tensor share = Tensor::empty({edges.total()}, DType::kF64, device);
    if (dst.total > 0) kernels::row_shares.on(device)(by_target, share);
    return share.to(dtype);
  };
  if (rows_by_relation) {
    kept.weight = shares(matrix(true, false).csr());
  } else {  // in the order of (target, relation) rows, then in that of the stacked matrix; ids are not kept
    const kernels::SortedEdges by_target = sort_edges(true, false, true);
    const Tensor of_edges =
        ids.contains({false, true}) ? edge_ids(false, true) : sort_edges(false, true, true).edge_ids;
    kept.weight =
        take(shares(by_target.csr), take(inverse_permutation(by_target.edge_ids), of_edges).to(DType::kI64));
  }
  kept.transposed = transposed_values(matrix(rows_by_relation, cols_by_relation), kept.weight);
  return kept;
}

}  // namespace rodeo
