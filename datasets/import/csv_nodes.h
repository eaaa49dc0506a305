/// The nodes of a CSV file, and their ids.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "datasets/import.h"
#include "datasets/import/csv_columns.h"

namespace rodeo {

/// Numbers ids 0, 1, ... in the order in which they are added.
class NodeIds {
 public:
  /// The number of an id, -1 if it was not added.
  std::int64_t find(const std::string& id) const;
  /// Adds an id, found on `line`. Returns its number, and whether it is new.
  std::pair<std::int64_t, bool> add(const std::string& id, std::int64_t line = 0);
  std::int64_t line(std::int64_t number) const { return lines_[static_cast<std::size_t>(number)]; }
  std::int64_t count() const { return static_cast<std::int64_t>(ids_.size()); }

  /// If all ids are integers, the order that sorts them; else empty.
  std::vector<std::int64_t> ascending() const;
  /// For ids of the ends of edges: sets num_nodes and the names, and numbers the ends anew where the ids are
  /// integers, so that these ascend.
  void number_nodes(Dataset& out, const std::vector<std::vector<std::int64_t>*>& ends) const;
  /// Sets node_id if all ids are integers other than 0, 1, ..., and node_names if they are not integers.
  /// Node i of the dataset has id order[i], or id i without an order.
  void name_nodes(Dataset& out, const std::vector<std::int64_t>& order = {}) const;

 private:
  std::vector<std::int64_t> integers() const;  // empty if an id is no integer

  std::unordered_map<std::string, std::int64_t> numbers_;
  std::vector<const std::string*> ids_;  // keys of numbers_, by number
  std::vector<std::int64_t> lines_;
};

/// The number of an end of an edge. Without a file of nodes (empty `nodes`), a new id is a new node.
std::int64_t end_of_edge(const CsvTable& table, int column, const std::string& id, const std::string& nodes,
                         NodeIds& ids);

/// Fills ids, num_nodes, features, labels, split and names from a file with one record a node.
/// `roles` is options.columns, parsed.
void read_csv_nodes(const std::string& path, const CsvRoles& roles, const CsvOptions& options, NodeIds& ids,
                    Dataset& out);

}  // namespace rodeo
