#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "datasets/import.h"
#include "datasets/import/edges.h"
#include "datasets/import/text_lines.h"

namespace rodeo {
namespace {

namespace fs = std::filesystem;
using Fields = std::vector<std::string_view>;

/// The path of NAME.csv.gz or NAME.csv; empty if neither exists.
std::string find(const fs::path& folder, const std::string& name) {
  for (const char* ending : {".csv.gz", ".csv"})
    if (const fs::path path = folder / (name + ending); fs::exists(path)) return path.string();
  return {};
}

/// What to do with folders of other kinds.
constexpr const char* kByPackage =
    ": `rodeo_data import ogb:NAME --root FOLDER` reads it by the Python package ogb";

std::optional<std::int64_t> read_count(const fs::path& raw) {
  const std::string path = find(raw, "num-node-list");
  if (path.empty()) return std::nullopt;
  TextLines lines(path);
  Fields fields;
  check(lines.next(fields) && fields.size() == 1, path, ": must hold one number, the number of nodes");
  const std::int64_t nodes = lines.id(fields[0]);
  check(!lines.next(fields), path, ": holds several graphs, expected one", kByPackage);
  return nodes;
}

/// A row of numbers for each of `count` nodes or edges.
Tensor read_rows(const std::string& path, std::int64_t count, const char* of) {
  TextLines lines(path);
  Fields fields;
  std::vector<float> x;
  std::size_t width = 0;
  while (lines.next(fields)) {
    if (width == 0) width = fields.size();
    if (fields.size() != width) lines.wrong("expected ", width, " features, got ", fields.size());
    for (const std::string_view field : fields) x.push_back(static_cast<float>(lines.number(field)));
  }
  const auto rows = static_cast<std::int64_t>(width == 0 ? 0 : x.size() / width);
  check(rows == count, path, ": has ", rows, " ", of, ", expected ", count);
  return Tensor::from(x, {rows, static_cast<std::int64_t>(width)});
}

void read_features(const std::string& path, Dataset& out) {
  out.x = read_rows(path, out.num_nodes, "nodes");
  out.num_features = out.x.dim(1);
}

void read_labels(const std::string& path, Dataset& out) {
  TextLines lines(path);
  Fields fields;
  std::vector<std::int64_t> y;
  std::size_t width = 0;
  while (lines.next(fields)) {
    if (width == 0) width = fields.size();
    if (fields.size() != width) lines.wrong("expected ", width, " labels, got ", fields.size());
    for (const std::string_view field : fields) {
      if (field == "nan" || field == "NaN") {
        y.push_back(width > 1 ? Dataset::kMissingLabel : -1);
        continue;
      }
      const double value = lines.number(field);  // 4 is also written 4.0
      if (value != std::floor(value) || std::abs(value) > 1e9 || (width > 1 && value != 0 && value != 1))
        lines.wrong(width > 1 ? "expected 0 or 1" : "expected a class", ", got ", quote(field));
      y.push_back(static_cast<std::int64_t>(value));
    }
  }
  const auto rows = static_cast<std::int64_t>(width == 0 ? 0 : y.size() / width);
  check(rows > 0 && rows == out.num_nodes, path, ": has ", rows, " nodes, expected ", out.num_nodes);
  if (width > 1) {
    out.num_classes = static_cast<std::int64_t>(width);
    out.y = Tensor::from(y, {rows, out.num_classes}).to(DType::kU8);
  } else {
    const std::int64_t most = *std::max_element(y.begin(), y.end());
    check(most < std::max(rows, std::int64_t{65536}), path, ": the largest class is ", most, ", of ", rows,
          " nodes: expected classes 0, 1, 2 and so on");
    out.num_classes = std::max<std::int64_t>(1, 1 + most);
    out.y = Tensor::from(y);
  }
}

Tensor read_part(const fs::path& folder, const char* part, std::int64_t num_nodes) {
  const std::string path = find(folder, part);
  const bool is_links = path.empty() && fs::exists(folder / (std::string(part) + ".pt"));
  check(!path.empty(), (folder / part).string(), ".csv.gz: no such file",
        is_links ? ", but one of links" : "", is_links ? kByPackage : "");
  TextLines lines(path);
  Fields fields;
  std::vector<std::int64_t> nodes;
  while (lines.next(fields)) {
    if (fields.size() != 1) lines.wrong("expected one node");
    nodes.push_back(lines.id(fields[0]));
    if (nodes.back() >= num_nodes) lines.wrong("node ", nodes.back(), " is outside [0, ", num_nodes, ")");
  }
  std::sort(nodes.begin(), nodes.end());
  return Tensor::from(nodes);
}

/// What load_dataset() would refuse: nodes in two parts of the split, and nodes without a label. The parts
/// are sorted.
void check_split(const fs::path& folder, const Dataset& dataset) {
  const char* const names[] = {"train", "valid", "test"};
  std::vector<std::int64_t> parts[3];
  for (int i = 0; i < 3; ++i) {
    parts[i] = dataset.split.sets()[i].to_vector<std::int64_t>();
    const std::string where = find(folder, names[i]);
    const auto twice = std::adjacent_find(parts[i].begin(), parts[i].end());
    check(twice == parts[i].end(), where, ": names node ", twice == parts[i].end() ? 0 : *twice, " twice");
    std::vector<std::int64_t> both;
    for (int j = 0; j < i && both.empty(); ++j) {
      std::set_intersection(parts[i].begin(), parts[i].end(), parts[j].begin(), parts[j].end(),
                            std::back_inserter(both));
      check(both.empty(), where, ": node ", both.empty() ? 0 : both[0], " is in ", names[j], " too");
    }
    if (!dataset.y.defined() || dataset.multi_label()) continue;
    const auto* label = dataset.y.data<std::int64_t>();
    for (const std::int64_t node : parts[i]) check(label[node] >= 0, where, ": node ", node, " has no label");
  }
}

}  // namespace

namespace {

std::string name_of(const std::string& folder) {
  const fs::path path = fs::path(folder).lexically_normal();
  return path.filename().empty() ? path.parent_path().filename().string() : path.filename().string();
}

/// The only folder in split/; empty if there is no split.
fs::path split_scheme(const fs::path& root) {
  if (!fs::is_directory(root / "split")) return {};
  std::vector<fs::path> schemes;
  for (const auto& entry : fs::directory_iterator(root / "split"))
    if (entry.is_directory()) schemes.push_back(entry.path());
  check(schemes.size() == 1, (root / "split").string(), ": must have exactly one folder with a split, got ",
        schemes.size());
  return schemes[0];
}

void read_split(const fs::path& folder, Dataset& out) {
  out.split = {read_part(folder, "train", out.num_nodes), read_part(folder, "valid", out.num_nodes),
               read_part(folder, "test", out.num_nodes)};
  check_split(folder, out);
}

}  // namespace

bool is_ogb_hetero(const std::string& folder) {
  return !find(fs::path(folder) / "raw", "num-node-dict").empty();
}

HeteroDataset read_ogb_hetero(const std::string& folder) {
  const fs::path root(folder), raw = root / "raw", scheme = split_scheme(root);
  HeteroDataset out;
  out.name = name_of(folder);
  TextLines counts(find(raw, "num-node-dict"));
  Fields fields;
  check(counts.next(fields), counts.path(), ": is empty: expected a line with the names of the node types");
  for (const std::string_view field : fields) out.types.emplace_back().name = std::string(field);
  check(counts.next(fields) && fields.size() == out.types.size(), counts.path(), ": must hold ",
        out.types.size(), " numbers of nodes");
  for (std::size_t i = 0; i < fields.size(); ++i) out.types[i].num_nodes = counts.id(fields[i]);
  for (Dataset& type : out.types) {
    if (const std::string path = find(raw / "node-feat" / type.name, "node-feat"); !path.empty())
      read_features(path, type);
    if (const std::string path = find(raw / "node-label" / type.name, "node-label"); !path.empty())
      read_labels(path, type);
    if (!scheme.empty() && fs::is_directory(scheme / type.name)) read_split(scheme / type.name, type);
  }
  const std::string list = find(raw, "triplet-type-list");
  check(!list.empty(), (raw / "triplet-type-list.csv.gz").string(), ": no such file");
  for (TextLines triplets(list); triplets.next(fields);) {
    if (fields.size() != 3) triplets.wrong("expected a source type, a relation and a target type");
    const std::string names[] = {std::string(fields[0]), std::string(fields[1]), std::string(fields[2])};
    const int source = out.type_index(names[0]), target = out.type_index(names[2]);
    if (source < 0 || target < 0) triplets.wrong("names a node type that ", counts.path(), " has not");
    const fs::path relation = raw / "relations" / (names[0] + "___" + names[1] + "___" + names[2]);
    const std::string edges = find(relation, "edge");
    check(!edges.empty(), (relation / "edge.csv.gz").string(), ": no such file");
    TextLines lines(edges);
    std::vector<std::int64_t> ends[2];
    const std::int64_t limits[] = {out.types[static_cast<std::size_t>(source)].num_nodes,
                                   out.types[static_cast<std::size_t>(target)].num_nodes};
    for (Fields pair; lines.next(pair);) {
      if (pair.size() != 2) lines.wrong("expected a source and a target");
      for (std::size_t i = 0; i < 2; ++i) {
        ends[i].push_back(lines.id(pair[i]));
        if (ends[i].back() >= limits[i])
          lines.wrong("node ", ends[i].back(), " is outside [0, ", limits[i], ")");
      }
    }
    out.relations.push_back({names[1], source, target, Tensor::from(ends[0]).to(DType::kI32),
                             Tensor::from(ends[1]).to(DType::kI32)});
  }
  set_target(out, "");
  return out;
}

Dataset read_ogb_csv(const std::string& folder, bool undirected) {
  const fs::path root(folder), raw = root / "raw";
  check(fs::is_directory(raw), folder, ": has no folder raw: expected an unpacked OGB dataset");
  const std::string edges = find(raw, "edge");
  const bool is_binary =
      edges.empty() && (fs::exists(raw / "data.npz") || fs::exists(raw / "edge_index_dict.npz"));
  check(!edges.empty(), (raw / "edge.csv.gz").string(), ": no such file",
        is_binary ? ", but one in OGB's binary form" : "", is_binary ? kByPackage : "");
  const std::optional<std::int64_t> nodes = read_count(raw);
  Dataset out = read_edge_list(edges, {.nodes = nodes.value_or(-1)});
  check(out.num_edges() > 0, edges, ": is empty: expected a line for each edge");
  if (const std::string path = find(raw, "edge-feat"); !path.empty())
    out.edge_attr = read_rows(path, out.num_edges(), "edges");
  if (undirected) make_undirected(out);
  out.name = name_of(folder);
  if (const std::string path = find(raw, "node-feat"); !path.empty()) read_features(path, out);
  if (const std::string path = find(raw, "node-label"); !path.empty()) read_labels(path, out);
  if (const fs::path scheme = split_scheme(root); !scheme.empty()) read_split(scheme, out);
  return out;
}

}  // namespace rodeo
