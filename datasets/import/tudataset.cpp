// Sets of graphs in the text formats of the TU collection, and of DGCNN and GIN (datasets/import.h).
#include <algorithm>
#include <filesystem>
#include <limits>
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
  check(std::filesystem::is_directory(folder), folder, ": no such folder or file");
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

/// Each column of labels one-hot, then the attributes: [count, width]; undefined without either.
Tensor one_hot(const Labels& label, const Rows& attribute, std::int64_t count, const std::string& path) {
  constexpr std::int64_t kMostClasses = 4096;
  const std::int64_t classes = std::accumulate(label.classes.begin(), label.classes.end(), std::int64_t{0}),
                     width = classes + attribute.width;
  check(classes <= kMostClasses, path, ": has ", classes, " labels, at most ", kMostClasses,
        " become columns");
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

/// Features of nodes or edges; undefined where neither file exists.
Tensor read_features(const std::string& labels, const std::string& attributes, std::int64_t count,
                     const char* what) {
  Labels label;
  if (std::filesystem::exists(labels)) {
    label = read_labels(labels);
    const std::size_t rows = label.columns.empty() ? 0 : label.columns[0].size();
    check(static_cast<std::int64_t>(rows) == count, labels, ": has ", rows,
          " lines, expected one for each of ", count, " ", what);
  }
  Rows attribute;
  if (std::filesystem::exists(attributes)) {
    attribute = read_rows(attributes);
    check(attribute.rows == count, attributes, ": has ", attribute.rows, " lines, expected one for each of ",
          count, " ", what);
  }
  return one_hot(label, attribute, count, labels);
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

/// A file of graphs, each its nodes and its label, and for each node its tag, neighbours and attributes.
Dataset read_graph_text(const std::string& path) {
  TextLines lines(path);
  Fields fields;
  const auto next = [&](const char* expected) {
    check(lines.next(fields), path, ": ends after line ", lines.line(), ": expected ", expected);
  };
  const auto count = [&](std::size_t field, std::int64_t most, const char* what) {
    const std::int64_t value = lines.id(fields[field]);
    if (value > most) lines.wrong(what, " ", value, " is above ", most);
    return value;
  };
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  next("the number of graphs");
  if (fields.size() != 1) lines.wrong("expected the number of graphs alone, got ", fields.size(), " fields");
  const std::int64_t graphs = count(0, kMost, "the number of graphs");
  if (graphs == 0) lines.wrong("expected at least one graph");
  std::vector<std::int64_t> label, tag, src, dst, ptr{0};
  std::vector<float> attributes;
  std::size_t width = 0;
  for (std::int64_t g = 0; g < graphs; ++g) {
    next("'nodes label' of a graph");
    if (fields.size() != 2) lines.wrong("expected 'nodes label' of a graph, got ", fields.size(), " fields");
    const std::int64_t first = ptr.back(), nodes = count(0, kMost - first, "the number of nodes");
    label.push_back(integer(lines, fields[1]));
    for (std::int64_t i = 0; i < nodes; ++i) {
      next("'tag degree neighbours' of a node");
      if (fields.size() < 2) lines.wrong("expected 'tag degree neighbours' of a node, got 1 field");
      tag.push_back(integer(lines, fields[0]));
      const auto end = static_cast<std::size_t>(lines.id(fields[1])) + 2;
      if (end > fields.size()) lines.wrong("expected ", end - 2, " neighbours, got ", fields.size() - 2);
      if (tag.size() > 1 && fields.size() - end != width)
        lines.wrong("expected ", width, " attributes after the neighbours as before, got ",
                    fields.size() - end);
      width = fields.size() - end;
      for (std::size_t k = 2; k < end; ++k) {
        src.push_back(first + count(k, nodes - 1, "neighbour"));
        dst.push_back(first + i);
      }
      for (std::size_t k = end; k < fields.size(); ++k)
        attributes.push_back(static_cast<float>(lines.number(fields[k])));
    }
    ptr.push_back(first + nodes);
  }
  if (lines.next(fields)) lines.wrong("expected the end of the file after ", graphs, " graphs");
  check(!src.empty(), path, ": has no edges");
  Dataset out;
  out.name = std::filesystem::path(path).stem().string();
  out.num_nodes = ptr.back();
  out.num_classes = number_classes(label);
  out.graph_label = Tensor::from(label);
  out.src = Tensor::from(src).to(DType::kI32);
  out.dst = Tensor::from(dst).to(DType::kI32);
  out.graph_ptr = Tensor::from(ptr);
  Labels tags;
  if (const std::int64_t kinds = number_classes(tag); kinds > 1) tags = {{tag}, {kinds}};  // one says nothing
  out.x = one_hot(tags, {attributes, out.num_nodes, static_cast<std::int64_t>(width)}, out.num_nodes, path);
  if (out.x.defined()) out.num_features = out.x.dim(1);
  return out;
}

}  // namespace

Dataset read_tudataset(const std::string& source) {
  if (std::filesystem::is_regular_file(source)) return read_graph_text(source);
  const std::string& folder = source;
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
