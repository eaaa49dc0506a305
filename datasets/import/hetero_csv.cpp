#include <algorithm>
#include <map>

#include "datasets/import.h"
#include "datasets/import/csv_columns.h"
#include "datasets/import/csv_nodes.h"

namespace rodeo {
namespace {

using Ids = std::vector<std::int64_t>;

/// "author=authors.csv" as {author, authors.csv}.
std::pair<std::string, std::string> named_file(const std::string& option, const std::string& text,
                                               const char* example) {
  const std::size_t equals = text.find('=');
  check(equals != std::string::npos && equals > 0 && equals + 1 < text.size(), option, " must be ", example,
        " for a graph of several node types, got ", quote(text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// The node types of a graph while their tables and edges are read.
class Types {
 public:
  Types(const HeteroCsvOptions& options, HeteroDataset& out) : options_(options), out_(out) {}

  void read_nodes(const std::string& type, const std::string& path) {
    check(out_.type_index(type) < 0, "--nodes names the type ", quote(type), " twice");
    Type& added = add(type);
    added.path = path;
    const bool is_target = type == options_.target;
    std::vector<std::string> notes;
    read_csv_nodes(path, {},
                   {.nodes = path,
                    .edges = {},
                    .regression = options_.regression && is_target,
                    .multi_label = options_.multi_label && is_target,
                    .missing = options_.missing,
                    .notes = &notes},
                   added.ids, out_.types.back());
    if (!options_.notes) return;
    for (const std::string& note : notes) options_.notes->push_back(type + ": " + note);
  }

  /// The type of the ends of edges; one without a table has the nodes that edges name.
  int find_or_add(const std::string& type) {
    if (out_.type_index(type) < 0) add(type);
    return out_.type_index(type);
  }

  std::int64_t end(int type, const CsvTable& table, int column, const std::string& id) {
    Type& t = *types_[static_cast<std::size_t>(type)];
    return end_of_edge(table, column, id, t.path, t.ids);
  }

  /// Numbers the nodes of types without a table.   ends: of all relations, with their types
  void finish(const std::vector<std::pair<int, Ids*>>& ends) {
    for (std::size_t i = 0; i < types_.size(); ++i) {
      if (!types_[i]->path.empty()) continue;
      std::vector<Ids*> own;
      for (const auto& [type, ids] : ends)
        if (type == static_cast<int>(i)) own.push_back(ids);
      types_[i]->ids.number_nodes(out_.types[i], own);
    }
  }

 private:
  struct Type {
    std::string path;  // empty: no table
    NodeIds ids;
  };
  Type& add(const std::string& name) {
    types_.push_back(std::make_unique<Type>());
    out_.types.emplace_back().name = name;
    return *types_.back();
  }

  const HeteroCsvOptions& options_;
  HeteroDataset& out_;
  std::vector<std::unique_ptr<Type>> types_;
};

/// The columns of sources and targets: those of usual names, else the two that there are.
std::pair<int, int> end_columns(const CsvTable& table) {
  const int source = find_column(table, {}, "source"), target = find_column(table, {}, "target");
  if (source >= 0 && target >= 0) return {source, target};
  check(table.columns().size() == 2, table.path(), ": has no column '", source < 0 ? "source" : "target",
        "'; its columns are ", table.list_columns(), ": rename one, or leave two columns, source and target");
  return {0, 1};
}

std::vector<std::string> parts_of(const std::string& relation) {
  std::vector<std::string> parts{""};
  for (const char c : relation)
    if (c == ':')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

}  // namespace

bool names_relations(const std::vector<std::string>& edges) {
  return std::any_of(edges.begin(), edges.end(), [](const std::string& text) {
    const std::string name = text.substr(0, text.find('='));
    return name.size() < text.size() && std::count(name.begin(), name.end(), ':') == 2;
  });
}

HeteroDataset read_hetero_csv(const HeteroCsvOptions& options) {
  HeteroDataset out;
  Types types(options, out);
  check((!options.regression && !options.multi_label) || !options.target.empty(),
        "--regression and --multi-label need --target TYPE in a graph of several node types");
  for (const std::string& nodes : options.nodes) {
    const auto [type, path] = named_file("--nodes", nodes, "author=authors.csv");
    types.read_nodes(type, path);
  }
  std::vector<std::pair<Ids, Ids>> edges(options.edges.size());
  std::vector<std::pair<int, Ids*>> ends;
  for (std::size_t i = 0; i < options.edges.size(); ++i) {
    const auto [relation, path] = named_file("--edges", options.edges[i], "author:writes:paper=writes.csv");
    const std::vector<std::string> parts = parts_of(relation);
    check(parts.size() == 3, "--edges must be author:writes:paper=writes.csv for a graph of several node ",
          "types, got ", quote(options.edges[i]));
    const int source = types.find_or_add(parts[0]), target = types.find_or_add(parts[2]);
    CsvTable table(path);
    const auto [from, to] = end_columns(table);
    std::vector<std::string> fields;
    while (table.next(fields)) {
      edges[i].first.push_back(types.end(source, table, from, fields[static_cast<std::size_t>(from)]));
      edges[i].second.push_back(types.end(target, table, to, fields[static_cast<std::size_t>(to)]));
    }
    if (options.notes && find_column(table, {}, "weight") >= 0)
      options.notes->push_back(relation + ": edge weights are not read: relations have none");
    out.relations.push_back({parts[1], source, target, {}, {}});
    ends.emplace_back(source, &edges[i].first), ends.emplace_back(target, &edges[i].second);
  }
  types.finish(ends);
  check(out.num_nodes() < (std::int64_t{1} << 31), "more than 2^31 - 1 nodes of all types");
  for (std::size_t i = 0; i < edges.size(); ++i) {
    out.relations[i].src = Tensor::from(edges[i].first).to(DType::kI32);
    out.relations[i].dst = Tensor::from(edges[i].second).to(DType::kI32);
  }
  set_target(out, options.target);
  return out;
}

void set_target(HeteroDataset& dataset, const std::string& type) {
  std::vector<int> labelled;
  for (std::size_t i = 0; i < dataset.types.size(); ++i)
    if (dataset.types[i].y.defined()) labelled.push_back(static_cast<int>(i));
  if (type.empty()) {
    dataset.target = labelled.size() == 1 ? labelled[0] : -1;
    return;
  }
  dataset.target = dataset.type_index(type);
  check(dataset.target >= 0, "--target: there is no node type ", quote(type));
  check(dataset.types[static_cast<std::size_t>(dataset.target)].y.defined(), "--target: the node type ", type,
        " has no labels");
}

}  // namespace rodeo
