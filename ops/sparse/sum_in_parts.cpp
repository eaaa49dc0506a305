#include "ops/sparse/sum_in_parts.h"

#include <algorithm>
#include <vector>

#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/plan/aggregation_cost.h"
#include "ops/sddmm.h"
#include "ops/sparse/spmm_sum.h"

namespace rodeo {
namespace {

/// The first column of each part, and the end.
std::vector<std::int64_t> bounds_of(const Tensor& x) {
  const std::int64_t n = x.dim(1), width = columns_of_part(n, size_of(x.dtype()));
  std::vector<std::int64_t> bounds;
  for (std::int64_t begin = 0; begin < n; begin += width) bounds.push_back(begin);
  bounds.push_back(n);
  return bounds;
}

struct Sum {
  Tensor y;
  std::vector<Tensor> x;  // of all nodes, each part's columns
};

Sum compute(const ShardedRows& share, const Tensor& weight, const Tensor& x, const SpmmOptions& options) {
  const NodePartition& nodes = *share.nodes;
  const std::vector<std::int64_t> bounds = bounds_of(x);
  const auto start = [&](std::size_t part) {
    return nodes.ranks().start_all_gather(columns(x, bounds[part], bounds[part + 1]), nodes.rows());
  };
  Sum sum;
  std::vector<Tensor> y;
  Tensor arriving = start(0);
  for (std::size_t part = 0; part + 1 < bounds.size(); ++part) {
    nodes.ranks().finish(arriving);
    sum.x.push_back(arriving);
    if (part + 2 < bounds.size()) arriving = start(part + 1);
    y.push_back(spmm_sum(share.rows, weight, sum.x.back(), options));
  }
  sum.y = concat_columns(y);
  return sum;
}

Tensor gradient_of_x(const ShardedRows& share, const Tensor& weight, const Tensor& dy,
                     const SpmmOptions& options) {
  const NodePartition& nodes = *share.nodes;
  const Communicator& ranks = nodes.ranks();
  Adjacency transposed;
  Tensor of_transposed;
  if (weight.defined()) {
    const Transposed t = transpose(share.rows);
    transposed = t.adj, of_transposed = take(weight, t.edge_ids);
  } else {
    transposed = transpose_pattern(share.rows);
  }
  const std::vector<std::int64_t> bounds = bounds_of(dy);
  std::vector<Tensor> dx;
  for (std::size_t part = 0; part + 1 < bounds.size(); ++part) {
    const Tensor sum =
        spmm_sum(transposed, of_transposed, columns(dy, bounds[part], bounds[part + 1]), options);
    if (!dx.empty()) ranks.finish(dx.back());
    dx.push_back(ranks.start_reduce_scatter(sum, nodes.rows()));
  }
  ranks.finish(dx.back());
  return concat_columns(dx);
}

}  // namespace

Variable sum_in_parts(const ShardedRows& share, const Variable& weight, const Variable& x,
                      const SpmmOptions& options) {
  const Tensor w = weight.defined() ? weight.value() : Tensor();
  Sum sum = compute(share, w, x.value(), options);
  if (!weight.requires_grad()) sum.x.clear();
  const ShardedRows of = share;
  const bool needs_dx = x.requires_grad();
  return record("spmm", sum.y, {weight, x}, [of, w, x = sum.x, needs_dx, options](const Tensor& dy) {
    Tensor dweight, dx;
    if (!x.empty()) dweight = sddmm(of.rows, dy, concat_columns(x), SddmmOp::kDot, {}, options.sddmm);
    if (needs_dx) dx = gradient_of_x(of, w, dy, options);
    return std::vector{dweight, dx};
  });
}

}  // namespace rodeo
