#include "ops/sparse/hetero_state.h"

#include <algorithm>
#include <numeric>

#include "ops/sparse/derived.h"

namespace rodeo {
namespace {

/// The edges [first, first + ids.numel()) of `all` become the numbers of ids.
void append_ids(const Tensor& ids, const NodeNumbers& numbers, std::int64_t first,
                std::vector<std::int32_t>& all) {
  const auto append = [&]<class T>(const std::vector<T>& values) {
    for (std::size_t k = 0; k < values.size(); ++k)
      all[static_cast<std::size_t>(first) + k] =
          static_cast<std::int32_t>(numbers.begin + static_cast<std::int64_t>(values[k]) * numbers.step);
  };
  if (ids.dtype() == DType::kI32)
    append(ids.to_vector<std::int32_t>());
  else
    append(ids.to_vector<std::int64_t>());
}

/// A matrix of ones at (i, columns[i]).
Adjacency selection(const std::vector<std::int32_t>& rows, const std::vector<std::int32_t>& columns,
                    std::int64_t num_rows, std::int64_t num_columns, Device device) {
  return coo_to_csr(Tensor::from(rows, device), Tensor::from(columns, device), num_rows, num_columns).adj;
}

}  // namespace

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

std::vector<std::int32_t> HeteroState::ends(const HeteroSide& side, bool by_relation) const {
  std::vector<std::int32_t> all(static_cast<std::size_t>(edges.total()));
  for (std::size_t r = 0; r < relations.size(); ++r) {
    const NodeNumbers of_type{side.nodes.begin(side.type[r]), 1};
    append_ids(&side == &dst ? relations[r].dst_ids : relations[r].src_ids,
               by_relation ? side.numbers[r] : of_type, edges.begin(static_cast<int>(r)), all);
  }
  return all;
}

CooResult HeteroState::sort_edges(bool rows_by_relation, bool cols_by_relation, bool edge_ids) const {
  const Tensor row = Tensor::from(ends(dst, rows_by_relation), device),
               col = Tensor::from(ends(src, cols_by_relation), device);
  return coo_to_csr(row, col, rows_by_relation ? dst.total : dst.nodes.total(),
                    cols_by_relation ? src.total : src.nodes.total(), {.edge_ids = edge_ids});
}

const Adjacency& HeteroState::matrix(bool rows_by_relation, bool cols_by_relation) {
  Adjacency& kept = matrices[{rows_by_relation, cols_by_relation}];
  if (!kept.defined()) kept = sort_edges(rows_by_relation, cols_by_relation, false).adj;
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
  std::vector<std::int32_t> position(sorted.size());
  std::iota(position.begin(), position.end(), 0);
  side.order = selection(position, sorted, std::ssize(sorted), std::ssize(relations), device);
  return side.order;
}

const Adjacency& HeteroState::sums() {
  if (sum_relations.defined()) return sum_relations;
  std::vector<std::int32_t> row, col(static_cast<std::size_t>(dst.total));
  std::iota(col.begin(), col.end(), 0);
  for (std::size_t t = 0; t < types.size(); ++t)
    for (std::int64_t i = 0; i < dst.nodes.size(static_cast<int>(t)); ++i)
      row.insert(row.end(), dst.relations[t].size(),
                 static_cast<std::int32_t>(dst.nodes.begin(static_cast<int>(t)) + i));
  sum_relations = selection(row, col, dst.nodes.total(), dst.total, device);
  return sum_relations;
}

const EdgeMeans& HeteroState::means_of(bool rows_by_relation, DType dtype) {
  EdgeMeans& kept = means[{rows_by_relation, dtype}];
  if (kept.weight.defined()) return kept;
  const std::vector<std::int32_t> target = ends(dst, true);
  std::vector<std::int64_t> degree(static_cast<std::size_t>(dst.total));
  for (const std::int32_t t : target) ++degree[static_cast<std::size_t>(t)];
  std::vector<double> fraction(target.size());  // in the order of the edges' numbers
  for (std::size_t e = 0; e < fraction.size(); ++e)
    fraction[e] = 1 / static_cast<double>(degree[static_cast<std::size_t>(target[e])]);
  const bool cols_by_relation = !rows_by_relation;
  const Tensor of_edges = sort_edges(rows_by_relation, cols_by_relation, true).edge_ids;  // not kept
  kept.weight = take(Tensor::from(fraction).to(dtype).to(device), of_edges);
  kept.transposed = transposed_values(matrix(rows_by_relation, cols_by_relation), kept.weight);
  return kept;
}

}  // namespace rodeo
