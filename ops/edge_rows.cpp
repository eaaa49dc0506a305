#include "ops/edge_rows.h"

#include "ops/convert.h"

namespace rodeo {
namespace {

struct EdgeRows {
  Tensor row;
};

}  // namespace

const Tensor& kept_edge_rows(const Adjacency& adj) {
  return adj.cached<EdgeRows>([&] { return EdgeRows{edge_rows(adj)}; }).row;
}

}  // namespace rodeo
