#include "layers/pna_conv.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/node_partition.h"
#include "core/over_ranks.h"
#include "layers/aggregate.h"
#include "ops/combine.h"
#include "ops/dense.h"
#include "ops/pointwise.h"
#include "ops/scale_rows.h"

namespace rodeo {
namespace {

/// [in 4 i, in 4 (i + 1)) of the rows of w behind the first `in`.
Variable part(const Variable& w, std::int64_t in, std::int64_t i) {
  return rows(w, in * (1 + 4 * i), in * (5 + 4 * i));
}

Tensor flat(const Tensor& x) {
  return x.reshape({x.numel()});
}

}  // namespace

PnaConv::PnaConv(std::int64_t in, std::int64_t out, double log_degree, Random& random, Device device,
                 DType dtype)
    : in_(in),
      pre_(2 * in, in, random, true, device, dtype),
      post_(13 * in, out, random, true, device, dtype),
      lin_(out, out, random, true, device, dtype) {
  check(log_degree > 0, "[pna_conv] log_degree must be > 0, got ", log_degree);
  register_buffer("aggr_module.avg_deg_log", &log_degree_, Tensor::full({1}, log_degree, dtype, device));
  register_module("pre_nns.0.0", &pre_);
  register_module("post_nns.0.0", &post_);
  register_module("lin", &lin_);
}

Variable PnaConv::convolve(const ConvGraph& graph, Features features, const ConvCall& call) const {
  check_block_features("pna_conv", graph.adj, features, in_);
  const Variable x = features.dense(), own = destinations(graph, features).dense();
  const auto reduce = [&](const auto& h, Reduce by) {
    return spmm(graph.adj, h, with_reduction(call.spmm, by));
  };
  // W_pre [x_i, x_j] = u_i + v_j: mean, max and min of v_j shift by u_i, and std does not.
  const Variable v = matmul(x, rows(pre_.weight(), in_, 2 * in_));
  const Variable u = add_bias(matmul(own, rows(pre_.weight(), 0, in_)), pre_.bias());
  const Tensor ones = Tensor::full({x.dim(0), 1}, 1, log_degree_.dtype(), x.device());
  const Variable shift = scale_rows(u, flat(reduce(ones, Reduce::kMean)));  // 0 without neighbours
  const Variable mean = reduce(v, Reduce::kMean);
  const Variable spread =
      deviation(linear_combination(1, reduce(mul(v, v), Reduce::kMean), -1, mul(mean, mean)));
  const Variable a = concat_columns(std::vector{add(shift, mean), add(shift, reduce(v, Reduce::kMax)),
                                                add(shift, reduce(v, Reduce::kMin)), spread});

  const Tensor degree = reduce(ones, Reduce::kSum);
  const Tensor one = Tensor::full(degree.shape(), 1, degree.dtype(), degree.device());
  const Tensor logs = log(add(degree, one)), average = log_degree_.reshape({1, 1});
  const auto inverse = [](const Tensor& t) { return exp(linear_combination(-1, log(t), 0, t)); };
  const Tensor amplify = flat(matmul(logs, inverse(average)));
  // A degree below one counts as one.
  const Tensor attenuate = flat(matmul(inverse(maximum(logs, log(add(one, one)))), average));

  const Variable& w = post_.weight();
  Variable y = add(matmul(own, rows(w, 0, in_)), matmul(a, part(w, in_, 0)));
  y = add(y, scale_rows(matmul(a, part(w, in_, 1)), amplify));
  y = add(y, scale_rows(matmul(a, part(w, in_, 2)), attenuate));
  return apply(lin_.forward(add_bias(y, post_.bias())), call.then);
}

double mean_log_degree(const Adjacency& adj) {
  constexpr double kLeast = 1e-3;  // of graphs without edges
  const ShardedRows* const shard = adj.shard();
  const Tensor row_ptr = (shard ? shard->rows : adj).csr().row_ptr.to(kCpu);
  const auto* begin = row_ptr.data<std::int64_t>();
  std::vector<double> sums{0, static_cast<double>(adj.rows())};
  for (std::int64_t i = 0; i < adj.rows(); ++i)
    sums[0] += std::log(static_cast<double>(begin[i + 1] - begin[i]) + 1);
  if (shard) sums = over_ranks(shard->nodes->ranks(), sums, Reduction::kSum, adj.device());
  return std::max(kLeast, sums[0] / std::max(1.0, sums[1]));
}

const ConvKind kPna{.name = "pna",
                    .traits = {.degrees = true, .sparse_inputs = false},
                    .make = [](const ConvOptions& o, Random& random, Device device,
                               DType dtype) -> std::unique_ptr<Convolution> {
                      return std::make_unique<PnaConv>(o.in, o.out, o.log_degree, random, device, dtype);
                    }};

}  // namespace rodeo
