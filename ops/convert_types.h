/// Options and results of graph conversions (ops/convert.h), which contracts and kernel signatures share.
#pragma once

#include "core/adjacency.h"

namespace rodeo {

enum class SelfLoops {
  kKeep,
  kDrop,
  kAdd,  // (i, i) for every node that has none
};

struct CooOptions {
  bool symmetrize = false;       // adds (j, i) for every (i, j); implies drop_duplicates
  bool drop_duplicates = false;  // keeps the first of equal edges
  SelfLoops self_loops = SelfLoops::kKeep;
  bool edge_ids = false;  // fills CooResult::edge_ids
};

struct CooResult {
  Adjacency adj;
  Tensor edge_ids;  // i64 [edges]: the position of each edge in the input; -1 for an added self loop
};

struct EdgeList {
  Tensor row, col;  // i32 [edges]
};

struct Transposed {
  Adjacency adj;    // A^T, rows sorted by column; A itself where the pattern is symmetric
  Tensor edge_ids;  // i64 [edges]: for each edge of A^T its position in A
};

}  // namespace rodeo
