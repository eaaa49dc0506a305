/// A graph of several node types and relations, as stored in a file of schema version 2.
/// datasets/README.md describes the format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/dataset.h"

namespace rodeo {

/// Edges of one kind between nodes of two types.
struct HeteroRelation {
  std::string name;  // "writes"
  int source = 0;    // index of the type that messages come from
  int target = 0;    // index of the type that they go to
  Tensor src, dst;   // i32 or i64 [edges], ids within their types

  std::int64_t num_edges() const { return src.defined() ? src.numel() : 0; }
};

struct HeteroDataset {
  std::string name;
  /// The node types: Dataset::name is the name of the type, and there are no edges. Each may have features,
  /// labels, splits, ids and names of its own.
  std::vector<Dataset> types;
  std::vector<HeteroRelation> relations;
  int target = -1;  // index of the type whose labels are learned; -1: none

  std::int64_t num_nodes() const;
  std::int64_t num_edges() const;
  /// The index of a type; -1 if there is none of that name.
  int type_index(std::string_view type) const;
  /// "author:writes:paper", which is also the name of its group in a file.
  std::string relation_name(const HeteroRelation& relation) const;
};

/// Whether the file says that it holds node types and relations. Throws Error as Hdf5File does.
bool is_hetero_file(const std::string& path);

/// Reads and validates a file. Throws a one-line Error as load_dataset() does, also for
///   a missing group, a name that is given twice or is not allowed, and a relation of an unknown type;
///   ids outside the nodes of their types, and more than 2^31 - 1 nodes or edges together.
/// The options say the split, its seed, and where edges and features go. With Need::kTraining, the target
/// type needs labels and a split without an empty part. `split` is of the target type.
HeteroDataset load_hetero_dataset(const std::string& path, const LoadOptions& options = {});

/// All errors that load_hetero_dataset() without Need::kTraining can throw, one line each.
std::vector<std::string> validate_hetero_dataset(const std::string& path);

/// Writes types and relations. The file is created atomically. Throws Error for names that are not allowed,
/// two equal ones, and a relation of a type that is not there.
void save_hetero_dataset(const HeteroDataset& dataset, const std::string& path);

}  // namespace rodeo
