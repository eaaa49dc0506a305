/// Shared code of the layers that aggregate over a graph without normalisation.
#pragma once

#include <string_view>

#include "core/adjacency.h"
#include "layers/bipartite.h"
#include "layers/linear.h"
#include "ops/spmm.h"

namespace rodeo {

/// Throws Error unless adj is square and x is [nodes, in].
void check_node_features(std::string_view layer, const Adjacency& adj, const Features& x, std::int64_t in);
/// Throws Error unless x is [columns, in] and adj has at most as many rows as columns: a block of a
/// mini-batch.
void check_block_features(std::string_view layer, const Adjacency& adj, const Features& x, std::int64_t in);

/// Throws Error unless x.src is [adj.cols(), in] and x.dst is [adj.rows(), in_dst], or undefined if it is not
/// needed.
void check_bipartite_features(std::string_view layer, const Adjacency& adj, const BipartiteFeatures& x,
                              std::int64_t in, std::int64_t in_dst, bool needs_dst = true);

/// The options of a product with this reduction: max and min have one kernel, and take no algorithm of sums.
SpmmOptions with_reduction(SpmmOptions options, Reduce reduce);

/// (reduce over the edges of each row of weight * x) W; weight may be undefined. Sum and mean commute with
/// the matrix product, so they run before or after it, whichever is narrower; after it if x is sparse. Throws
/// Error for other reductions of sparse x.   w [in, out]
Variable aggregate_and_project(const Adjacency& adj, const Variable& weight, const Features& x,
                               const Variable& w, Reduce reduce, SpmmOptions options);
/// Whether it aggregates x itself, and not x W.
bool aggregates_first(const Features& x, const Variable& w, Reduce reduce);

/// What depends on a graph and a constant x alone, computed once. The key is the graph and the memory of x,
/// which must not be modified.
class KeptProduct {
 public:
  /// compute(x), or its result of the last call where adj and x are the same.
  template <class Compute>
  const Tensor& get(const Adjacency& adj, const Tensor& x, const Compute& compute) {
    if (!(value_.defined() && adj_ == adj && x_.shares_memory_with(x))) {
      value_ = compute(x);
      adj_ = adj;
      x_ = x;
    }
    return value_;
  }

 private:
  Tensor value_, x_;
  Adjacency adj_;
};

}  // namespace rodeo
