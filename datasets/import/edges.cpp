#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include "datasets/import/edges.h"

#include "datasets/import.h"
#include "datasets/import/text_lines.h"
#include "datasets/matrix_market.h"

namespace rodeo {
namespace {

constexpr std::int64_t kMaxNodes = (std::int64_t{1} << 31) - 1;

// Renumbers the ids that occur, in ascending order, to 0, 1, ...
void relabel(std::vector<std::int64_t>& src, std::vector<std::int64_t>& dst, Dataset& out) {
  std::vector<std::int64_t> names(src);
  names.insert(names.end(), dst.begin(), dst.end());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (auto* ids : {&src, &dst})
    for (std::int64_t& id : *ids) id = std::lower_bound(names.begin(), names.end(), id) - names.begin();
  out.num_nodes = static_cast<std::int64_t>(names.size());
  out.node_id = Tensor::from(names);
}

}  // namespace

std::string stem_of(const std::string& path) {
  std::filesystem::path name = std::filesystem::path(path).filename();
  if (name.extension() == ".gz") name = name.stem();
  return name.stem().string();
}

void make_undirected(Dataset& dataset) {
  const bool weighted = dataset.edge_weight.defined();
  const CooResult sorted = coo_to_csr(dataset.src, dataset.dst, dataset.num_nodes, dataset.num_nodes,
                                      {.symmetrize = true, .edge_ids = weighted});
  dataset.src = edge_rows(sorted.adj);
  dataset.dst = sorted.adj.csr().col;
  if (weighted) dataset.edge_weight = take(dataset.edge_weight, sorted.edge_ids, 1);
}

void drop_self_loops(Dataset& dataset) {
  const Tensor src = dataset.src.to(DType::kI64), dst = dataset.dst.to(DType::kI64);
  const auto *from = src.data<std::int64_t>(), *to = dst.data<std::int64_t>();
  std::vector<std::int64_t> kept;
  for (std::int64_t e = 0; e < src.numel(); ++e)
    if (from[e] != to[e]) kept.push_back(e);
  const Tensor edges = Tensor::from(kept);
  for (Tensor* array : {&dataset.src, &dataset.dst, &dataset.edge_weight})
    if (array->defined()) *array = take(*array, edges);
}

Dataset read_edge_list(const std::string& path, const EdgeListOptions& options) {
  check(!options.relabel || options.nodes < 0, "the number of nodes and relabel exclude each other");
  check(options.nodes <= kMaxNodes, path, ": a graph has at most ", kMaxNodes, " nodes, got ", options.nodes);
  TextLines lines(path);
  std::vector<std::string_view> fields;
  std::vector<std::int64_t> src, dst;
  std::vector<float> weight;
  std::int64_t largest = -1;
  std::size_t width = 0;
  while (lines.next(fields)) {
    if (width == 0) width = fields.size();
    if (fields.size() != width || width < 2 || width > 3)
      lines.wrong("expected 'source destination'", width == 2 ? "" : " and an optional weight", ", got ",
                  fields.size(), " fields");
    for (int i = 0; i < 2; ++i) {
      const std::int64_t id = lines.id(fields[i]);
      if (!options.relabel && id >= (options.nodes < 0 ? kMaxNodes : options.nodes))
        lines.wrong("node ", id, " is outside [0, ", options.nodes < 0 ? kMaxNodes : options.nodes, ")");
      largest = std::max(largest, id);
      (i == 0 ? src : dst).push_back(id);
    }
    if (width == 3) weight.push_back(static_cast<float>(lines.number(fields[2])));
  }
  Dataset out;
  out.name = stem_of(path);
  if (options.relabel)
    relabel(src, dst, out);
  else
    out.num_nodes = options.nodes < 0 ? largest + 1 : options.nodes;
  out.src = Tensor::from(src).to(DType::kI32);
  src = {};
  out.dst = Tensor::from(dst).to(DType::kI32);
  if (width == 3) out.edge_weight = Tensor::from(weight);
  if (options.undirected) make_undirected(out);
  return out;
}

Dataset read_matrix_market_graph(const std::string& path, bool undirected, bool weights) {
  const MatrixMarket matrix = read_matrix_market(path);
  check(matrix.rows == matrix.cols, path, ": a graph needs a square matrix, got ", matrix.rows, " x ",
        matrix.cols);
  Dataset out;
  out.name = stem_of(path);
  out.num_nodes = matrix.rows;
  out.src = matrix.row;
  out.dst = matrix.col;
  if (weights && matrix.value.defined()) {
    out.edge_weight = matrix.value.to(DType::kF32);
    const auto* weight = out.edge_weight.data<float>();
    for (std::int64_t i = 0; i < out.edge_weight.numel(); ++i)
      check(std::isfinite(weight[i]), path, ": entry ", i, " is too large for an edge weight in f32");
  }
  if (undirected) make_undirected(out);
  return out;
}

}  // namespace rodeo
