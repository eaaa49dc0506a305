#include "ops/sparse/sharded_products.h"

#include "core/cuda_graph.h"
#include "ops/all_gather.h"
#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/kernels/exchange.h"
#include "ops/sparse/aggregation_choice.h"
#include "ops/sparse/constant_weight.h"
#include "ops/sparse/row_order.h"
#include "ops/sparse/shapes.h"
#include "ops/sparse/spmm_sum.h"
#include "ops/sparse/sum_in_parts.h"
#include "ops/sparse/whole_graph.h"

namespace rodeo {
namespace {

/// A X: exchanges columns for rows, multiplies the whole graph by the rank's columns, and exchanges back.
/// weight: of the edges of `graph`, or undefined.
Tensor sum_by_columns(const ShardedRows& share, const Adjacency& graph, const Tensor& weight, const Tensor& x,
                      const SpmmOptions& options) {
  const NodePartition& nodes = *share.nodes;
  const Communicator& ranks = nodes.ranks();
  const std::int64_t own = nodes.num_rows(), parts = ranks.size(), n = x.dim(1);
  const auto load = std::max<std::int64_t>(1, 16 / static_cast<std::int64_t>(size_of(x.dtype())));
  // Rows of whole 16-byte loads.
  const std::int64_t width = ((n + parts - 1) / parts + load - 1) / load * load;
  const std::vector<std::int64_t> same(static_cast<std::size_t>(parts), own);
  const Tensor split = Tensor::empty({parts, own, width}, x.dtype(), x.device());
  if (split.numel() > 0) kernels::split_columns.on(x.device())(x, split);
  const Tensor columns = ranks.all_to_all(split.reshape({parts * own, width}), same, nodes.rows());
  const Tensor sum = spmm_sum(graph, weight, columns, options);
  const Tensor joined = ranks.all_to_all(sum, nodes.rows(), same).reshape({parts, own, width});
  const Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (y.numel() > 0) kernels::join_columns.on(y.device())(joined, y);
  return y;
}

Tensor gather(const ShardedRows& share, Aggregation form, const Tensor& x) {
  if (form == Aggregation::kHalo) return exchange_halo(*share.nodes, *shard_plan(share).halo, x);
  return all_gather(*share.nodes, x);
}

/// The rank's rows, cut by whether a column is of its own nodes.
void split_rows(const ShardedRows& share, ShardPlan::Found& found) {
  const Csr& all = share.rows.csr();
  const std::int64_t first = share.nodes->first_row(), own = share.nodes->num_rows();
  const std::vector<std::int64_t> row_ptr = all.row_ptr.to_vector<std::int64_t>();
  const Tensor columns = all.col.to(kCpu);
  const auto* col = columns.data<std::int32_t>();
  std::vector<std::int64_t> local_ptr{0}, remote_ptr{0};
  std::vector<std::int32_t> local, remote;
  local.reserve(static_cast<std::size_t>(columns.numel())), remote.reserve(local.capacity());
  for (std::int64_t row = 0; row < own; ++row) {
    for (std::int64_t e = row_ptr[row]; e < row_ptr[row + 1]; ++e)
      if (col[e] >= first && col[e] < first + own)
        local.push_back(static_cast<std::int32_t>(col[e] - first));
      else
        remote.push_back(col[e]);
    local_ptr.push_back(std::ssize(local)), remote_ptr.push_back(std::ssize(remote));
  }
  const Device device = all.col.device();
  found.local = Adjacency::trusted({own, own, Tensor::from(local_ptr, device), Tensor::from(local, device)});
  found.remote =
      Adjacency::trusted({own, all.cols, Tensor::from(remote_ptr, device), Tensor::from(remote, device)});
  order_as(share.rows, found.local);
  order_as(share.rows, found.remote);
}

/// A X of a symmetric graph: multiplies the columns of the rank's own nodes while the other rows arrive.
Tensor overlapped_sum(const ShardedRows& share, const Tensor& x, const SpmmOptions& options) {
  ShardPlan::Found& found = *shard_plan(share).found;
  if (!found.local.defined()) {
    check(!is_capturing(share.rows.device()),
          "[spmm] the rows of a rank cannot be split during CUDA graph capture: run the work once before "
          "capturing");
    split_rows(share, found);
  }
  const Communicator& ranks = share.nodes->ranks();
  const Tensor all = ranks.start_all_gather(x, share.nodes->rows());
  const Tensor near = spmm_sum(found.local, Tensor(), x, options);
  ranks.finish(all);
  return linear_combination(1, near, 1, spmm_sum(found.remote, Tensor(), all, options));
}

Tensor sum_in_form(const ShardedRows& share, Aggregation form, const Tensor& x, const SpmmOptions& options) {
  if (form == Aggregation::kColumns) return sum_by_columns(share, whole_graph(share), {}, x, options);
  if (form == Aggregation::kOverlap && share.symmetric) return overlapped_sum(share, x, options);
  if (form == Aggregation::kOverlap) return sum_in_parts(share, {}, Variable(x), options).value();
  return spmm_sum(share.rows, Tensor(), gather(share, form, x), options);
}

Aggregation choose_sum(const ShardedRows& share, const Tensor& x, const SpmmOptions& options) {
  const auto run = [&](Aggregation form) { sum_in_form(share, form, x, options); };
  AggregationProblem problem{x.dim(1), x.dtype(), ProductKind::kSum};
  if (!share.symmetric) problem.parts = sum_parts(x.dim(1), size_of(x.dtype()));
  return choose_aggregation(share, problem, run);
}

Aggregation choose_gather(const ShardedRows& share, const Tensor& x) {
  if (!is_float(x.dtype())) return Aggregation::kRows;
  const auto run = [&](Aggregation form) { gather(share, form, x); };
  return choose_aggregation(share, {row_size(edge_matrix(x)), x.dtype()}, run);
}

}  // namespace

Tensor neighbour_rows(const ShardedRows& share, const Tensor& x) {
  return gather(share, choose_gather(share, x), x);
}

Variable neighbour_rows(const ShardedRows& share, const Variable& x) {
  return neighbour_rows(share, choose_gather(share, x.value()), x);
}

Variable neighbour_rows(const ShardedRows& share, Aggregation form, const Variable& x) {
  if (form != Aggregation::kHalo) return all_gather(*share.nodes, x);
  const ShardedRows of = share;
  return record("exchange_halo", gather(share, Aggregation::kHalo, x.value()), {x}, [of](const Tensor& dy) {
    return std::vector{exchange_halo_backward(*of.nodes, *shard_plan(of).halo, dy)};
  });
}

Tensor sharded_sum(const ShardedRows& share, const Tensor& x, const SpmmOptions& options) {
  return sum_in_form(share, choose_sum(share, x, options), x, options);
}

Variable sharded_sum(const ShardedRows& share, const Variable& x, const SpmmOptions& options) {
  const Aggregation form = choose_sum(share, x.value(), options);
  if (!share.symmetric && form == Aggregation::kOverlap) return sum_in_parts(share, {}, x, options);
  if (!share.symmetric && form != Aggregation::kColumns)
    return spmm_sum(share.rows, Variable(), neighbour_rows(share, form, x), options);
  const ShardedRows of = share;
  return record("spmm", sum_in_form(share, form, x.value(), options), {x},
                [of, form, options](const Tensor& dy) {
                  if (form != Aggregation::kColumns) return std::vector{sum_in_form(of, form, dy, options)};
                  return std::vector{sum_by_columns(of, transpose_pattern(whole_graph(of)), {}, dy, options)};
                });
}

/// With constant weights.
Variable weighted_by_columns(const ShardedRows& share, const Tensor& weight, const Variable& x,
                             const SpmmOptions& options) {
  const WeightedGraph whole = whole_weighted(share, weight);
  const ShardedRows of = share;
  return record("spmm", sum_by_columns(share, whole.adj, whole.weight, x.value(), options), {x},
                [of, weight, options](const Tensor& dy) {
                  const WeightedGraph t = transposed_weighted(of, weight);
                  return std::vector{sum_by_columns(of, t.adj, t.weight, dy, options)};
                });
}

Variable sharded_sum(const ShardedRows& share, const Variable& weight, const Variable& x,
                     const SpmmOptions& options) {
  const auto run = [&](Aggregation form) {
    if (form == Aggregation::kColumns) return weighted_by_columns(share, weight.value(), x, options);
    if (form == Aggregation::kOverlap) return sum_in_parts(share, weight, x, options);
    return spmm_sum(share.rows, weight, neighbour_rows(share, form, x), options);
  };
  const bool constant = is_constant_weight(share, weight);
  AggregationProblem problem{x.dim(1), x.dtype(),
                             constant ? ProductKind::kConstantWeights : ProductKind::kWeightedSum};
  problem.parts = sum_parts(x.dim(1), size_of(x.dtype()));
  return run(choose_aggregation(share, problem, [&](Aggregation form) {
    const NoGrad off;
    run(form);
  }));
}

}  // namespace rodeo
