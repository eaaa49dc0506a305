// Sets of graphs in the text format of the TU collection (datasets/import.h).
#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "datasets/import.h"
#include "datasets/import/text_lines.h"

namespace rodeo {
namespace {

using Fields = std::vector<std::string_view>;

/// The part of the file names before _A.txt.
std::string prefix_of(const std::string& folder) {
  check(std::filesystem::is_directory(folder), folder, ": is no folder");
  std::string found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with("_A.txt")) continue;
    check(found.empty(), folder, ": has ", found, "_A.txt and ", name, ": expected one data set");
    found = name.substr(0, name.size() - 6);
  }
  check(!found.empty(), folder, ": has no file NAME_A.txt");
  return found;
}

std::int64_t integer(const TextLines& lines, std::string_view field) {
  const double value = lines.number(field);
  const auto whole = static_cast<std::int64_t>(value);
  if (static_cast<double>(whole) != value) lines.wrong("expected an integer, got ", quote(field));
  return whole;
}

/// One integer a line.
std::vector<std::int64_t> read_integers(const std::string& path) {
  TextLines lines(path);
  std::vector<std::int64_t> out;
  for (Fields fields; lines.next(fields);) {
    if (fields.size() != 1) lines.wrong("expected one integer, got ", fields.size(), " fields");
    out.push_back(integer(lines, fields[0]));
  }
  return out;
}

/// Rows of numbers, all of one length.
struct Rows {
  std::vector<float> values;
  std::int64_t rows = 0, width = 0;
};
Rows read_rows(const std::string& path) {
  TextLines lines(path);
  Rows out;
  for (Fields fields; lines.next(fields);) {
    const auto width = static_cast<std::int64_t>(fields.size());
    if (out.rows > 0 && width != out.width)
      lines.wrong("expected ", out.width, " numbers as before, got ", width);
    out.width = width;
    ++out.rows;
    for (const std::string_view field : fields) out.values.push_back(static_cast<float>(lines.number(field)));
  }
  return out;
}

/// Labels as classes 0, 1, ... in ascending order; returns their number.
std::int64_t number_classes(std::vector<std::int64_t>& labels) {
  std::map<std::int64_t, std::int64_t> classes;
  for (const std::int64_t label : labels) classes.emplace(label, 0);
  std::int64_t next = 0;
  for (auto& [label, number] : classes) number = next++;
  for (std::int64_t& label : labels) label = classes[label];
  return next;
}

/// The columns of a file of labels, each numbered from 0 on in ascending order.
struct Labels {
  std::vector<std::vector<std::int64_t>> columns;
  std::vector<std::int64_t> classes;  // of each column
};
Labels read_labels(const std::string& path) {
  TextLines lines(path);
  Labels out;
  for (Fields fields; lines.next(fields);) {
    if (out.columns.empty()) out.columns.resize(fields.size());
    if (fields.size() != out.columns.size())
      lines.wrong("expected ", out.columns.size(), " labels as before, got ", fields.size());
    for (std::size_t c = 0; c < fields.size(); ++c) out.columns[c].push_back(integer(lines, fields[c]));
  }
  for (auto& column : out.columns) out.classes.push_back(number_classes(column));
  return out;
}

/// Each column of labels one-hot, then the attributes: [count, width]; undefined where neither file exists.
Tensor read_features(const std::string& labels, const std::string& attributes, std::int64_t count,
                     const char* what) {
  Labels label;
  std::int64_t classes = 0;
  constexpr std::int64_t kMostClasses = 4096;
  if (std::filesystem::exists(labels)) {
    label = read_labels(labels);
    const std::size_t rows = label.columns.empty() ? 0 : label.columns[0].size();
    check(static_cast<std::int64_t>(rows) == count, labels, ": has ", rows,
          " lines, expected one for each of ", count, " ", what);
    classes = std::accumulate(label.classes.begin(), label.classes.end(), std::int64_t{0});
    check(classes <= kMostClasses, labels, ": has ", classes, " labels, at most ", kMostClasses,
          " become columns");
  }
  Rows attribute;
  if (std::filesystem::exists(attributes)) {
    attribute = read_rows(attributes);
    check(attribute.rows == count, attributes, ": has ", attribute.rows, " lines, expected one for each of ",
          count, " ", what);
  }
  const std::int64_t width = classes + attribute.width;
  if (width == 0) return {};
  const Tensor out = Tensor::zeros({count, width});
  auto* to = out.data<float>();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t first = i * width;
    for (std::size_t c = 0; c < label.columns.size(); first += label.classes[c++])
      to[first + label.columns[c][static_cast<std::size_t>(i)]] = 1;
    std::copy_n(attribute.values.begin() + i * attribute.width, attribute.width, to + i * width + classes);
  }
  return out;
}

/// Labels of graphs, at least one: classes, else the numbers to predict.
void read_graph_labels(const std::string& labels, const std::string& attributes, Dataset& out) {
  if (!std::filesystem::exists(labels) && std::filesystem::exists(attributes)) {
    const Rows targets = read_rows(attributes);
    check(targets.rows > 0, attributes, ": is empty: expected a line of numbers for each graph");
    out.num_classes = targets.width;
    out.graph_label = Tensor::from(targets.values, {targets.rows, targets.width});
    return;
  }
  check(std::filesystem::exists(labels), labels, ": no such file, and no ", attributes,
        ": expected the labels of the graphs");
  std::vector<std::int64_t> label = read_integers(labels);
  check(!label.empty(), labels, ": is empty: expected a line with the label of each graph");
  out.num_classes = number_classes(label);
  out.graph_label = Tensor::from(label);
}

}  // namespace

Dataset read_tudataset(const std::string& folder) {
  const std::string name = prefix_of(folder);
  const auto file = [&](const char* suffix) {
    return (std::filesystem::path(folder) / (name + suffix)).string();
  };
  const std::string indicator = file("_graph_indicator.txt");
  const std::vector<std::int64_t> graph = read_integers(indicator);
  Dataset out;
  read_graph_labels(file("_graph_labels.txt"), file("_graph_attributes.txt"), out);
  const std::int64_t graphs = out.graph_label.dim(0), nodes = static_cast<std::int64_t>(graph.size());
  check(nodes > 0, indicator, ": is empty: expected a line with the number of its graph for each node");
  std::vector<std::int64_t> ptr(static_cast<std::size_t>(graphs) + 1, 0);
  for (std::int64_t i = 0; i < nodes; ++i) {
    check(graph[i] >= 1 && graph[i] <= graphs, indicator, ": line ", i + 1, ": graph ", graph[i],
          " is outside [1, ", graphs, "]: graphs are numbered from 1, and each has a label");
    check(i == 0 || graph[i] >= graph[i - 1], indicator, ": line ", i + 1, ": graph ", graph[i],
          " after graph ", graph[i - 1], ": nodes must be sorted by graph");
    ++ptr[static_cast<std::size_t>(graph[i])];
  }
  check(graph.back() == graphs, indicator, ": has nodes of ", graph.back(),
        " graphs, the file of labels has ", graphs, ": expected a label for each graph");
  for (std::size_t g = 1; g < ptr.size(); ++g) ptr[g] += ptr[g - 1];
  std::vector<std::int64_t> src, dst;
  TextLines lines(file("_A.txt"));
  for (Fields fields; lines.next(fields);) {
    if (fields.size() != 2) lines.wrong("expected two nodes, got ", fields.size(), " fields");
    const std::int64_t from = lines.id(fields[0]), to = lines.id(fields[1]);
    for (const std::int64_t node : {from, to})
      if (node < 1 || node > nodes) lines.wrong("node ", node, " is outside [1, ", nodes, "]");
    if (graph[from - 1] != graph[to - 1])
      lines.wrong("the edge is between graphs ", graph[from - 1], " and ", graph[to - 1]);
    src.push_back(from - 1);
    dst.push_back(to - 1);
  }
  check(!src.empty(), lines.path(), ": has no edges: expected lines 'node, node'");
  out.name = name;
  out.num_nodes = nodes;
  out.src = Tensor::from(src).to(DType::kI32);
  out.dst = Tensor::from(dst).to(DType::kI32);
  out.graph_ptr = Tensor::from(ptr);
  out.x = read_features(file("_node_labels.txt"), file("_node_attributes.txt"), nodes, "nodes");
  out.edge_attr = read_features(file("_edge_labels.txt"), file("_edge_attributes.txt"),
                                static_cast<std::int64_t>(src.size()), "edges");
  if (out.x.defined()) out.num_features = out.x.dim(1);
  return out;
}

}  // namespace rodeo
