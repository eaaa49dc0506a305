/// The row of every edge, for kernels that go through edges and not through rows.
#pragma once

#include "core/adjacency.h"

namespace rodeo {

/// edge_rows(adj) (ops/convert.h), made on first use and kept on adj: 4 bytes an edge.
const Tensor& kept_edge_rows(const Adjacency& adj);

}  // namespace rodeo
