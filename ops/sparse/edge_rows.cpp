#include "ops/sparse/edge_rows.h"

#include "core/cuda_graph.h"
#include "core/error.h"
#include "ops/convert.h"

namespace rodeo {
namespace {

struct EdgeRows {
  Tensor row;
};

}  // namespace

const Tensor& kept_edge_rows(const Adjacency& adj) {
  return adj
      .cached<EdgeRows>([&] {
        // They would be in the captured graph's memory, and empty until it is launched.
        check(!is_capturing(adj.device()),
              "[edge_rows] the rows of a graph's edges would be made in a graph capture: run the work once "
              "before");
        return EdgeRows{edge_rows(adj)};
      })
      .row;
}

}  // namespace rodeo
