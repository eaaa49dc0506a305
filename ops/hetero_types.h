/// What heterogeneous graphs (ops/hetero_graph.h) are made of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/adjacency.h"
#include "ops/grouped_linear_types.h"

namespace rodeo {

struct NodeType {
  std::string name;
  std::int64_t count = 0;
  /// How many nodes of the type, from `first_target` on, are destinations: in a block of a mini-batch its
  /// first nodes, in a rank's shard those of the rank. -1: all.
  std::int64_t targets = -1;
  std::int64_t first_target = 0;
};

/// One relation: edges from nodes of type `src` to nodes of type `dst`. An edge is a message src -> dst.
struct EdgeType {
  std::string src, name, dst;
  Tensor src_ids, dst_ids;  // i32 or i64 [edges], ids within their type, on any device
  std::string full_name() const { return src + ":" + name + ":" + dst; }
};

/// Weights of the edges of a matrix and, in their order, of its transpose (ops/convert.h).
struct EdgeMeans {
  Tensor weight, transposed;  // [edges]
};

/// The (relation, source) pairs that have edges, relation after relation, and the matrix of these columns.
struct ReadSources {
  Tensor nodes;                       // i64 [rows]: the sources among the nodes of all types
  std::vector<RowSegment> relations;  // the rows of each relation, also of those without
  Adjacency blocks;                   // [(target, relation), rows]
};

/// Node i of a relation has the number begin + i step; of its targets, i counts from their type's
/// first_target.
struct NodeNumbers {
  std::int64_t begin = 0, step = 0;
};

}  // namespace rodeo
