/// rodeo._core.Graph: construction, conversions and properties. python/rodeo/graph.py documents them.

#include <algorithm>

#include "arrays.h"
#include "core/context.h"
#include "core/device.h"
#include "core/text.h"
#include "datasets/dataset.h"
#include "ops/convert.h"
#include "ops/sample_neighbors.h"
#include "ops/sddmm_tuner.h"
#include "ops/spmm_tuner.h"
#include "train.h"

namespace rodeo::python {
namespace {

SelfLoops self_loops_of(const std::string& text) {
  if (text == "keep") return SelfLoops::kKeep;
  if (text == "drop") return SelfLoops::kDrop;
  if (text == "add") return SelfLoops::kAdd;
  fail("[graph] self_loops must be keep, drop or add, got ", text);
}

PyGraph made(const CooResult& result) {
  return {result.adj, result.edge_ids};
}

void check_ids(std::string_view what, const Tensor& ids, int rank) {
  check(ids.defined() && (ids.dtype() == DType::kI64 || ids.dtype() == DType::kI32) && ids.rank() == rank,
        "[graph] ", what, " must be int64 or int32 of ", count_of(rank, "dimension"),
        ids.defined() ? str(", got ", ids.dtype(), " ", ids.shape()) : std::string(", got None"));
}

/// Rows are targets and columns are sources, so that a sum over a row's edges is message passing.
PyGraph from_edges(nb::handle source, nb::handle target, std::int64_t sources, std::int64_t targets,
                   const std::string& self_loops, bool symmetrize, bool drop_duplicates) {
  const Tensor src = read("graph", "source", source), dst = read("graph", "target", target);
  check_ids("source", src, 1);
  check_ids("target", dst, 1);
  check(src.device() == dst.device(), "[graph] source is on ", src.device(), ", target on ", dst.device());
  const CooOptions options{.symmetrize = symmetrize,
                           .drop_duplicates = drop_duplicates,
                           .self_loops = self_loops_of(self_loops),
                           .edge_ids = true};
  Results results("graph", source, src);
  return results.run([&] { return made(coo_to_csr(dst, src, targets, sources, options)); });
}

PyGraph from_csr(nb::handle indptr, nb::handle indices, std::int64_t cols) {
  const Tensor row_ptr = read("graph", "indptr", indptr, true), col = read("graph", "indices", indices, true);
  check_ids("indptr", row_ptr, 1);
  check_ids("indices", col, 1);
  check(row_ptr.numel() > 0, "[graph] indptr must have one element more than there are rows, got none");
  check(row_ptr.device() == col.device(), "[graph] indptr is on ", row_ptr.device(), ", indices on ",
        col.device());
  Results results("graph", indptr, row_ptr);
  return results.run([&] {
    return made(sort_csr(row_ptr.to(DType::kI64), col, row_ptr.numel() - 1, cols, {.edge_ids = true}));
  });
}

PyGraph load_graph(const std::string& path, const std::string& device) {
  const Hdf5Lock lock(path);
  const PreserveDevice preserve;
  const rodeo::Graph graph = to_graph(load_dataset(path, {.features = false}), parse_device(device));
  if (graph.adj.device().is_cuda()) synchronize(graph.adj.device());
  return {graph.adj, {}};
}

PyGraph to_device(const PyGraph& graph, const std::string& text) {
  nb::gil_scoped_release release;
  const PreserveDevice preserve;
  const Device device = parse_device(text);
  const auto move = [&](const Tensor& t) { return t.defined() ? t.to(device) : t; };
  const PyGraph moved{graph.adj.to(device), move(graph.edge_ids)};
  for (const Device used : {device, graph.adj.device()})  // other streams use it next
    if (used.is_cuda()) synchronize(used);
  return moved;
}

/// `like` decides framework, device and stream.
PyGraph transposed(const PyGraph& graph, nb::handle like) {
  Results results("graph", like, read("graph", "like", like));
  return results.run([&] {
    const Transposed t = transpose(graph.adj);
    return PyGraph{t.adj, t.edge_ids};
  });
}

PyGraph with_self_loops(const PyGraph& graph, nb::handle like) {
  Results results("graph", like, read("graph", "like", like));
  return results.run([&] { return made(add_self_loops(graph.adj)); });
}

nb::object rows_of_edges(const PyGraph& graph, nb::handle like) {
  Results results("graph", like, read("graph", "like", like));
  const Tensor rows = results.run([&] { return edge_rows(graph.adj); });
  return results.give(rows);
}

/// Counted on the CPU. `like` gives the stream to wait for, and nothing is allocated as it: under fake
/// tensors of PyTorch that memory would be fake.
std::int64_t count_self_loops(const PyGraph& graph, nb::handle like) {
  Results results("graph", like, read("graph", "like", like));
  return results.run([&] {
    const Csr csr = graph.adj.to(kCpu).csr();
    const auto* const row_ptr = csr.row_ptr.data<std::int64_t>();
    const auto* const col = csr.col.data<std::int32_t>();
    std::int64_t loops = 0;
    for (std::int64_t i = 0; i < csr.rows; ++i)
      loops += std::count(col + row_ptr[i], col + row_ptr[i + 1], i);
    return loops;
  });
}

/// values [edges, ...] in the order of the arrays that the graph was made from -> in its own.
nb::object permute(const PyGraph& graph, nb::handle values, double missing) {
  const Tensor given = read("permute", "values", values);
  Results results("permute", values, given);
  const Tensor moved = results.run([&] { return take(given, graph.edge_ids, missing); });
  return results.give(moved);
}

/// rodeo._core.NeighborSampler: draws edges of one hop at a time. rodeo/loader.py makes batches of them.
class PySampler {
 public:
  explicit PySampler(const PyGraph& graph) : graph_(graph) {
    nb::gil_scoped_release release;
    const PreserveDevice preserve;
    marks_ = make_node_marks(graph.adj);
    if (marks_.device().is_cuda()) synchronize(marks_.device());  // other streams use it next
  }

  nb::tuple sample(nb::handle targets, std::int64_t fanout, bool replace, std::uint64_t seed,
                   std::uint64_t epoch, std::uint64_t batch, std::uint64_t hop) const {
    const Tensor given = read("neighbor_loader", "targets", targets);
    Results results("neighbor_loader", targets, given);
    const NeighborSample cut = results.run([&] {
      const Tensor count = Tensor::full({1}, static_cast<double>(given.numel()), DType::kI64, given.device());
      NeighborSample all = sample_neighbors(graph_.adj, given, count, {.fanout = fanout, .replace = replace},
                                            {seed, epoch, batch, hop}, marks_);
      const auto edges = all.row_ptr.slice(given.numel(), given.numel() + 1).to_vector<std::int64_t>()[0];
      const auto nodes = all.num_nodes.to_vector<std::int64_t>()[0];
      return NeighborSample{all.row_ptr, all.col.slice(0, edges), all.edge_ids.slice(0, edges),
                            all.nodes.slice(0, nodes), all.num_nodes};
    });
    return nb::make_tuple(results.give(cut.row_ptr), results.give(cut.col), results.give(cut.edge_ids),
                          results.give(cut.nodes));
  }

 private:
  PyGraph graph_;
  Tensor marks_;
};

std::string explain(const PyGraph& graph) {
  const std::string products = explain_spmm(graph.adj), scores = explain_sddmm(graph.adj);
  return (products.empty() ? "" : "spmm\n" + products) + (scores.empty() ? "" : "sddmm\n" + scores);
}

}  // namespace

void bind_graph(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<PyGraph>(m, "Graph")
      .def_static("from_edges", from_edges, "source"_a, "target"_a, "num_sources"_a, "num_targets"_a,
                  "self_loops"_a, "symmetrize"_a, "drop_duplicates"_a)
      .def_static("from_csr", from_csr, "indptr"_a, "indices"_a, "num_cols"_a)
      .def_static("load", load_graph, "path"_a, "device"_a)
      .def("to", to_device, "device"_a)
      .def("transposed", transposed, "like"_a)
      .def("with_self_loops", with_self_loops, "like"_a)
      .def("permute", permute, "values"_a, "missing"_a)
      .def("rows_of_edges", rows_of_edges, "like"_a)
      .def("count_self_loops", count_self_loops, "like"_a)
      .def_prop_ro("num_rows", [](const PyGraph& g) { return g.adj.rows(); })
      .def_prop_ro("num_cols", [](const PyGraph& g) { return g.adj.cols(); })
      .def_prop_ro("num_edges", [](const PyGraph& g) { return g.adj.num_edges(); })
      .def_prop_ro("device", [](const PyGraph& g) { return str(g.adj.device()); })
      .def_prop_ro("indptr", [](const PyGraph& g) { return to_dlpack(g.adj.csr().row_ptr); })
      .def_prop_ro("indices", [](const PyGraph& g) { return to_dlpack(g.adj.csr().col); })
      .def_prop_ro("edge_ids",
                   [](const PyGraph& g) { return g.edge_ids.defined() ? to_dlpack(g.edge_ids) : nb::none(); })
      .def("explain", explain);
  nb::class_<PySampler>(m, "NeighborSampler")
      .def(nb::init<const PyGraph&>(), "graph"_a)
      .def("sample", &PySampler::sample, "targets"_a, "fanout"_a, "replace"_a, "seed"_a, "epoch"_a, "batch"_a,
           "hop"_a);
}

}  // namespace rodeo::python
