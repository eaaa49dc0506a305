/// Reads a part of the edges of a file, for ranks that exchange them.
#pragma once

#include <cstdint>
#include <string>

#include "core/tensor.h"

namespace rodeo {

/// Edges in the order of the file, on the host.
struct EdgePart {
  Tensor src, dst;  // i32 [edges]  messages go from src to dst
  Tensor weight;    // f32 [edges]; undefined without edge weights
};

/// Part `part` of `parts` equal parts of the edges, of a graph with `nodes` nodes. For a file that
/// load_dataset() accepts without edges. Reads no others, apart from those in the same compressed chunks and,
/// of a CSR, all row pointers. Throws Error as load_dataset() does for these edges.
EdgePart load_edge_part(const std::string& path, std::int64_t nodes, int part, int parts);

/// The first edge of that part.
std::int64_t edge_part_begin(std::int64_t edges, int part, int parts);

}  // namespace rodeo
