#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "datasets/import.h"
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

std::optional<std::int64_t> read_count(const fs::path& raw) {
  const std::string path = find(raw, "num-node-list");
  if (path.empty()) return std::nullopt;
  TextLines lines(path);
  Fields fields;
  check(lines.next(fields) && fields.size() == 1, path, ": must hold one number, the number of nodes");
  const std::int64_t nodes = lines.id(fields[0]);
  check(!lines.next(fields), path, ": holds several graphs, expected one");
  return nodes;
}

void read_features(const std::string& path, Dataset& out) {
  TextLines lines(path);
  Fields fields;
  std::vector<float> x;
  std::size_t width = 0;
  while (lines.next(fields)) {
    if (width == 0) width = fields.size();
    if (fields.size() != width) lines.wrong("expected ", width, " features, got ", fields.size());
    for (const std::string_view field : fields) x.push_back(static_cast<float>(lines.number(field)));
  }
  out.num_features = static_cast<std::int64_t>(width);
  const auto rows = static_cast<std::int64_t>(width == 0 ? 0 : x.size() / width);
  check(rows == out.num_nodes, path, ": has ", rows, " nodes, expected ", out.num_nodes);
  out.x = Tensor::from(x, {rows, out.num_features});
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
        if (width > 1) lines.wrong("one of several labels is missing: 0 or 1 expected");
        y.push_back(-1);
        continue;
      }
      const double value = lines.number(field);  // 4 is also written 4.0
      if (value != std::floor(value) || std::abs(value) > 1e9 || (width > 1 && value != 0 && value != 1))
        lines.wrong(width > 1 ? "expected 0 or 1" : "expected a class", ", got ", quote(field));
      y.push_back(static_cast<std::int64_t>(value));
    }
  }
  const auto rows = static_cast<std::int64_t>(width == 0 ? 0 : y.size() / width);
  check(rows == out.num_nodes, path, ": has ", rows, " nodes, expected ", out.num_nodes);
  if (width > 1) {
    out.num_classes = static_cast<std::int64_t>(width);
    out.y = Tensor::from(y, {rows, out.num_classes}).to(DType::kU8);
  } else {
    out.num_classes = std::max<std::int64_t>(1, 1 + (y.empty() ? 0 : *std::max_element(y.begin(), y.end())));
    out.y = Tensor::from(y);
  }
}

Tensor read_part(const fs::path& folder, const char* part, std::int64_t num_nodes) {
  const std::string path = find(folder, part);
  check(!path.empty(), (folder / part).string(), ".csv.gz: no such file");
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
    const Tensor* const part[] = {&dataset.split.train, &dataset.split.val, &dataset.split.test};
    parts[i] = part[i]->to_vector<std::int64_t>();
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

Dataset read_ogb_csv(const std::string& folder, bool undirected) {
  const fs::path root(folder), raw = root / "raw";
  check(fs::is_directory(raw), folder, ": has no folder raw: expected an unpacked OGB dataset");
  const std::string edges = find(raw, "edge");
  check(!edges.empty(), (raw / "edge.csv.gz").string(), ": no such file");
  const std::optional<std::int64_t> nodes = read_count(raw);
  Dataset out = read_edge_list(edges, {.undirected = undirected, .nodes = nodes.value_or(-1)});
  out.name = fs::path(folder).lexically_normal().filename().string();
  if (out.name.empty()) out.name = fs::path(folder).lexically_normal().parent_path().filename().string();
  if (const std::string path = find(raw, "node-feat"); !path.empty()) read_features(path, out);
  if (const std::string path = find(raw, "node-label"); !path.empty()) read_labels(path, out);
  if (!fs::is_directory(root / "split")) return out;
  std::vector<fs::path> schemes;
  for (const auto& entry : fs::directory_iterator(root / "split"))
    if (entry.is_directory()) schemes.push_back(entry.path());
  check(schemes.size() == 1, (root / "split").string(), ": must have exactly one folder with a split, got ",
        schemes.size());
  out.split = {read_part(schemes[0], "train", out.num_nodes), read_part(schemes[0], "valid", out.num_nodes),
               read_part(schemes[0], "test", out.num_nodes)};
  check_split(schemes[0], out);
  return out;
}

}  // namespace rodeo
