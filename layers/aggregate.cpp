#include "layers/aggregate.h"

#include "ops/dense.h"

namespace rodeo {

void check_node_features(std::string_view layer, const Adjacency& adj, const Features& x, std::int64_t in) {
  check(adj.defined(), "[", layer, "] the graph is undefined");
  check(adj.rows() == adj.cols(), "[", layer, "] the graph must be square, got ", adj.rows(), " x ",
        adj.cols());
  const Shape expected{adj.rows(), in};
  check(x.shape() == expected, "[", layer, "] x must be ", expected, ", got ", x.shape());
}

void check_block_features(std::string_view layer, const Adjacency& adj, const Features& x, std::int64_t in) {
  check(adj.defined(), "[", layer, "] the graph is undefined");
  check(adj.rows() <= adj.cols(), "[", layer,
        "] the graph must be square, or a block with fewer rows than columns, got ", adj.rows(), " x ",
        adj.cols());
  const Shape expected{adj.cols(), in};
  check(x.shape() == expected, "[", layer, "] x must be ", expected, ", got ", x.shape());
}

void check_bipartite_features(std::string_view layer, const Adjacency& adj, const BipartiteFeatures& x,
                              std::int64_t in, std::int64_t in_dst, bool needs_dst) {
  check(adj.defined(), "[", layer, "] the graph is undefined");
  const auto check_side = [&](std::string_view name, const Features& side, const Shape& expected) {
    check(side.defined(), "[", layer, "] ", name, " must be ", expected, " on a graph of ", adj.rows(), " x ",
          adj.cols(), ", got undefined features");
    check(side.shape() == expected, "[", layer, "] ", name, " must be ", expected, " on a graph of ",
          adj.rows(), " x ", adj.cols(), ", got ", side.shape());
  };
  check_side("x_src", x.src, {adj.cols(), in});
  if (needs_dst || x.dst.defined()) check_side("x_dst", x.dst, {adj.rows(), in_dst});
}

bool aggregates_first(const Features& x, const Variable& w, Reduce reduce) {
  const bool commutes = reduce == Reduce::kSum || reduce == Reduce::kMean;
  return !commutes || (!x.is_sparse() && w.dim(0) <= w.dim(1));
}

SpmmOptions with_reduction(SpmmOptions options, Reduce reduce) {
  if (reduce == Reduce::kMax || reduce == Reduce::kMin) options = {};
  options.reduce = reduce;
  return options;
}

Variable aggregate_and_project(const Adjacency& adj, const Variable& weight, const Features& x,
                               const Variable& w, Reduce reduce, SpmmOptions options) {
  options = with_reduction(options, reduce);
  const auto aggregate = [&](const Variable& h) {
    return weight.defined() ? spmm(adj, weight, h, options) : spmm(adj, h, options);
  };
  return aggregates_first(x, w, reduce) ? matmul(Features(aggregate(x.dense())), w) : aggregate(matmul(x, w));
}

}  // namespace rodeo
