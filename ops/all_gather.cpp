#include "ops/all_gather.h"

namespace rodeo {

Tensor all_gather(const NodePartition& nodes, const Tensor& x) {
  check(x.defined() && x.rank() >= 1 && x.dim(0) == nodes.num_rows(), "[all_gather] x must have the ",
        nodes.num_rows(), " rows of this rank, got ", x.defined() ? x.shape() : Shape{});
  return nodes.ranks().all_gather(x, nodes.rows());
}

Variable all_gather(const NodePartition& nodes, const Variable& x) {
  const NodePartition of = nodes;
  return record("all_gather", all_gather(nodes, x.value()), {x},
                [of](const Tensor& dy) { return std::vector{of.ranks().reduce_scatter(dy, of.rows())}; });
}

}  // namespace rodeo
