#include <algorithm>
#include <cmath>
#include <iterator>

#include "datasets/hdf5/array_names.h"
#include "datasets/hdf5/dataset_reader.h"

namespace rodeo {

void DatasetReader::read_edge_features() {
  if (!file_.has("edge_attr")) return;
  const Hdf5Array attr = open_numbers("edge_attr", 2, "numbers [edges, edge features]");
  check(edges_ < 0 || attr.shape()[0] == edges_, attr.where(), " must have a row for each of ", edges_,
        " edges, got ", attr.shape()[0]);
  const Tensor values = attr.read(DType::kF32);
  const auto* value = values.data<float>();
  const std::int64_t bad =
      find_first(values.numel(), [=](std::int64_t i) { return !std::isfinite(value[i]); });
  if (bad < values.numel())
    fail(attr.where(), "[", bad / values.dim(1), ", ", bad % values.dim(1), "] is ", value[bad],
         ": must be finite");
  out_.edge_attr = values;
}

void DatasetReader::check_graph_edges(const Hdf5Array& graph_ptr) const {
  if (options_.device.is_cuda()) return;  // GraphSet checks them
  std::vector<std::int32_t> graph(static_cast<std::size_t>(out_.num_nodes));
  const auto* begin = out_.graph_ptr.data<std::int64_t>();
  for (std::int64_t g = 0; g < out_.num_graphs(); ++g)
    std::fill(graph.begin() + begin[g], graph.begin() + begin[g + 1], static_cast<std::int32_t>(g));
  const auto check_edge = [&](std::int64_t from, std::int64_t to) {
    if (graph[from] != graph[to])
      fail(graph_ptr.where(), ": the edge from node ", from, " to node ", to, " is between graphs ",
           graph[from], " and ", graph[to]);
  };
  if (out_.indptr.defined()) {
    const auto* row = out_.indptr.data<std::int64_t>();
    const auto* col = out_.indices.data<std::int32_t>();
    for (std::int64_t i = 0; i < out_.num_nodes; ++i)
      for (std::int64_t e = row[i]; e < row[i + 1]; ++e) check_edge(col[e], i);
  } else if (out_.src.defined() && out_.dst.defined()) {
    for (std::int64_t e = 0; e < out_.src.numel(); ++e)
      check_edge(out_.src.data<std::int32_t>()[e], out_.dst.data<std::int32_t>()[e]);
  }
}

void DatasetReader::read_graph_set() {
  const bool has_ptr = file_.has("graph_ptr"), has_labels = file_.has("graph_y");
  if (!has_ptr && !has_labels) return;
  check(has_ptr, file_.path(), ": has /graph_y without /graph_ptr, the nodes of each graph");
  const Hdf5Array ptr = open_integers("graph_ptr", 1, "integer [graphs + 1]");
  const std::int64_t count = ptr.shape()[0];
  check(count >= 1 && count <= kMaxNodes, ptr.where(), " must be integer [graphs + 1], got ", ptr.shape());
  const Tensor values = ptr.read(DType::kI64);
  const auto* begin = values.data<std::int64_t>();
  check(begin[0] == 0, ptr.where(), " must start at 0, got ", begin[0]);
  for (std::int64_t g = 1; g < count; ++g)
    check(begin[g] >= begin[g - 1], ptr.where(), " must not decrease, but [", g, "] is ", begin[g], " after ",
          begin[g - 1]);
  if (nodes_source_ == "/edge_index")  // the last nodes may have no edges
    out_.num_nodes = std::max(out_.num_nodes, begin[count - 1]);
  check(begin[count - 1] == out_.num_nodes, ptr.where(), " must end at the number of nodes, ", out_.num_nodes,
        ", got ", begin[count - 1]);
  out_.graph_ptr = values;
  check_graph_edges(ptr);
  read_graph_split();
  if (has_labels) read_graph_labels();
}

/// The masks of graphs: all three or none, disjoint.
void DatasetReader::read_graph_split() {
  Tensor* const parts[] = {&out_.graph_split.train, &out_.graph_split.val, &out_.graph_split.test};
  const auto has = [&](const char* name) { return file_.has(name); };
  if (std::none_of(std::begin(hdf5::kGraphMasks), std::end(hdf5::kGraphMasks), has)) return;
  std::vector<const char*> taken(static_cast<std::size_t>(out_.num_graphs()), nullptr);
  for (int i = 0; i < 3; ++i) {
    const char* name = hdf5::kGraphMasks[i];
    check(has(name), file_.path(), ": /", name, " is missing: train, val and test masks are all required");
    const Hdf5Array mask = open_mask(name);
    check(mask.shape() == Shape{out_.num_graphs()}, mask.where(), " must have a value for each of ",
          out_.num_graphs(), " graphs, got ", mask.shape());
    std::vector<std::int64_t> chosen;
    const auto values = mask.read(DType::kI64).to_vector<std::int64_t>();
    for (std::size_t g = 0; g < values.size(); ++g) {
      check(values[g] == 0 || values[g] == 1, mask.where(), "[", g, "] must be 0 or 1, got ", values[g]);
      if (values[g] == 0) continue;
      check(!taken[g], file_.path(), ": /", taken[g] ? taken[g] : "", " and /", name, " both have graph ", g);
      taken[g] = name;
      chosen.push_back(static_cast<std::int64_t>(g));
    }
    *parts[i] = Tensor::from(chosen);
  }
}

void DatasetReader::read_graph_labels() {
  const Hdf5Array y = file_.array("graph_y");
  check(y.shape().rank() == 1 || y.shape().rank() == 2, y.where(),
        " must be integer or float [graphs], [graphs, tasks] or [graphs, targets], got ", y.dtype(), " ",
        y.shape());
  check(y.shape()[0] == out_.num_graphs(), y.where(), " must have a label for each of ", out_.num_graphs(),
        " graphs, got ", y.shape()[0]);
  check(!file_.has("y"), y.where(), " and /y: a file has labels of graphs or of nodes");
  const Tensor label = read_labels(y);
  if (label.dtype() == DType::kI64) {
    const auto* c = label.data<std::int64_t>();
    const std::int64_t bad = find_first(label.numel(), [=](std::int64_t g) { return c[g] < 0; });
    if (bad < label.numel())
      fail(y.where(), "[", bad, "] is ", c[bad],
           ": labels of graphs must be at least 0; leave graphs without a label out");
  }
  out_.graph_label = label;
}

}  // namespace rodeo
