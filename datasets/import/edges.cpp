#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <vector>

#include "datasets/import/edges.h"

#include "core/text.h"
#include "datasets/import.h"
#include "datasets/import/csv_columns.h"
#include "datasets/import/csv_nodes.h"
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
  const bool has_values = dataset.edge_weight.defined() || dataset.edge_attr.defined();
  const CooResult sorted = coo_to_csr(dataset.src, dataset.dst, dataset.num_nodes, dataset.num_nodes,
                                      {.symmetrize = true, .edge_ids = has_values});
  dataset.src = edge_rows(sorted.adj);
  dataset.dst = sorted.adj.csr().col;
  for (Tensor* values : {&dataset.edge_weight, &dataset.edge_attr})
    if (values->defined()) *values = take(*values, sorted.edge_ids);
}

void drop_self_loops(Dataset& dataset) {
  const Tensor src = dataset.src.to(DType::kI64), dst = dataset.dst.to(DType::kI64);
  const auto *from = src.data<std::int64_t>(), *to = dst.data<std::int64_t>();
  std::vector<std::int64_t> kept;
  for (std::int64_t e = 0; e < src.numel(); ++e)
    if (from[e] != to[e]) kept.push_back(e);
  const Tensor edges = Tensor::from(kept);
  for (Tensor* array : {&dataset.src, &dataset.dst, &dataset.edge_weight, &dataset.edge_attr})
    if (array->defined()) *array = take(*array, edges);
}

namespace {

bool is_integer(std::string_view field) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  return error == std::errc{} && end == field.data() + field.size();
}

/// The lines of an edge list, which are all of one width.
class EdgeLines : public TextLines {
 public:
  using TextLines::TextLines;
  bool next(std::vector<std::string_view>& fields) {
    if (!TextLines::next(fields)) return false;
    if (width_ == 0) width_ = fields.size();
    if (fields.size() != width_ || width_ < 2 || width_ > 3)
      wrong("expected 'source destination'", width_ == 2 ? "" : " and an optional weight", ", got ",
            count_of(std::ssize(fields), "field"), ": blanks, commas, semicolons and tabs separate");
    return true;
  }
  bool weighted() const { return width_ == 3; }

 private:
  std::size_t width_ = 0;
};

struct EdgeRows {
  std::vector<std::int64_t> src, dst;
  std::vector<float> weight;
};

/// Edges whose ids are any text. Numbers the nodes and names them.
EdgeRows read_named_edges(const std::string& path, Dataset& out, std::vector<std::string>* notes) {
  EdgeLines lines(path);
  NodeIds ids;
  EdgeRows edges;
  std::int64_t texts = 0;
  bool first = false;
  for (std::vector<std::string_view> fields; lines.next(fields);) {
    const bool text = !is_integer(fields[0]) || !is_integer(fields[1]);
    if (edges.src.empty()) {
      first = text;
      if (is_usual_name("source", fields[0]) && is_usual_name("target", fields[1]))
        lines.wrong("is a header, ", quote(fields[0]), " and ", quote(fields[1]),
                    ": `import csv` reads it, or begin it with #");
    }
    texts += text;
    edges.src.push_back(ids.add(std::string(fields[0])).first);
    edges.dst.push_back(ids.add(std::string(fields[1])).first);
    if (lines.weighted()) edges.weight.push_back(static_cast<float>(lines.number(fields[2])));
  }
  check(!first || texts > 1 || edges.src.size() == 1, path,
        ": only its first line has texts as ids: a header, which `import csv` reads, or begin it with #");
  const auto in_first_line = [](std::int64_t id) { return id <= 1; };
  if (notes && first && edges.src.size() > 1 &&
      std::none_of(edges.src.begin() + 1, edges.src.end(), in_first_line) &&
      std::none_of(edges.dst.begin() + 1, edges.dst.end(), in_first_line))
    notes->emplace_back("the two ids of the first line are in no other: if it is a header, begin it with #");
  ids.number_nodes(out, {&edges.src, &edges.dst});
  return edges;
}

/// Edges whose ids are integers of at least 0; nothing if `relabel` allows other ids and one occurs.
std::optional<EdgeRows> read_numbered_edges(const std::string& path, const EdgeListOptions& options) {
  const std::int64_t limit = options.nodes < 0 ? kMaxNodes : options.nodes;
  EdgeLines lines(path);
  EdgeRows edges;
  for (std::vector<std::string_view> fields; lines.next(fields);) {
    for (int i = 0; i < 2; ++i) {
      if (options.relabel && (!is_integer(fields[i]) || fields[i].starts_with('-'))) return std::nullopt;
      if (!is_integer(fields[i]))
        lines.wrong("expected an integer of at least 0, got ", quote(fields[i]),
                    ": other ids need --relabel, and a header `import csv`");
      const std::int64_t id = lines.id(fields[i]);
      if (!options.relabel && id >= limit) lines.wrong("node ", id, " is outside [0, ", limit, ")");
      (i == 0 ? edges.src : edges.dst).push_back(id);
    }
    if (lines.weighted()) edges.weight.push_back(static_cast<float>(lines.number(fields[2])));
  }
  return edges;
}

/// "3 of 10 nodes have no edge ...", where ids have gaps or begin at 1.
void note_gaps(const EdgeRows& edges, std::int64_t nodes, std::vector<std::string>& notes) {
  std::vector<bool> has_edge(static_cast<std::size_t>(nodes), false);
  for (const auto* ids : {&edges.src, &edges.dst})
    for (const std::int64_t id : *ids) has_edge[static_cast<std::size_t>(id)] = true;
  const std::int64_t without = std::count(has_edge.begin(), has_edge.end(), false);
  if (without > 0)
    notes.push_back(str(without, " of ", nodes, " nodes ", without == 1 ? "has" : "have",
                        " no edge, because ids are numbers from 0 on: --relabel numbers those that occur"));
}

}  // namespace

Dataset read_edge_list(const std::string& path, const EdgeListOptions& options) {
  check(!options.relabel || options.nodes < 0, "the number of nodes and relabel exclude each other");
  check(options.nodes <= kMaxNodes, path, ": a graph has at most ", kMaxNodes, " nodes, got ", options.nodes);
  Dataset out;
  out.name = stem_of(path);
  std::optional<EdgeRows> edges = read_numbered_edges(path, options);
  check(!edges || !edges->src.empty() || options.nodes >= 0, path,
        ": has no edges: expected lines 'source destination'");
  if (!edges) {
    edges = read_named_edges(path, out, options.notes);
  } else if (options.relabel) {
    relabel(edges->src, edges->dst, out);
  } else {
    out.num_nodes = options.nodes;
    if (options.nodes < 0)
      for (const auto* ids : {&edges->src, &edges->dst})
        for (const std::int64_t id : *ids) out.num_nodes = std::max(out.num_nodes, id + 1);
    if (options.notes && options.nodes < 0) note_gaps(*edges, out.num_nodes, *options.notes);
  }
  out.src = Tensor::from(edges->src).to(DType::kI32);
  edges->src = {};
  out.dst = Tensor::from(edges->dst).to(DType::kI32);
  if (!edges->weight.empty()) out.edge_weight = Tensor::from(edges->weight);
  if (options.undirected) make_undirected(out);
  return out;
}

Dataset read_matrix_market_graph(const std::string& path, bool undirected, bool weights) {
  const MatrixMarket matrix = read_matrix_market(path);
  check(matrix.rows == matrix.cols, path, ": a graph needs a square matrix, got ", matrix.rows, " x ",
        matrix.cols);
  check(matrix.rows > 0, path, ": has 0 rows: expected one for each node");
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
