/// The names of node types and relations in a file of schema version 2.
#pragma once

#include <string>
#include <vector>

#include "datasets/hdf5_file.h"

namespace rodeo::hdf5 {

inline constexpr std::int64_t kHeteroSchema = 2;

/// What the attributes node_types, relations and target_type say.
struct HeteroNames {
  struct Relation {
    std::string name;
    int source = 0, target = 0;  // indices of types
  };
  std::vector<std::string> types;
  std::vector<Relation> relations;
  int target = -1;  // index of a type; -1: not said

  std::string type_group(std::size_t type) const { return "nodes/" + types[type]; }
  std::string relation_name(std::size_t relation) const;  // "author:writes:paper"
  std::string relation_group(std::size_t relation) const { return "edges/" + relation_name(relation); }
};

/// Throws Error unless there are 1 to 1000 types and up to 10,000 relations of them, none of them twice, with
/// names that check_hetero_name() accepts. `where` begins the texts.
void check_hetero_names(const HeteroNames& names, const std::string& where);

/// Reads and checks them. Reads no array.
HeteroNames read_hetero_names(const Hdf5File& file);

}  // namespace rodeo::hdf5
