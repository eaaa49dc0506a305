#include "datasets/edge_split.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "datasets/hdf5/findings.h"
#include "datasets/hdf5_file.h"

namespace rodeo {
namespace {

constexpr std::uint64_t kDirection = 0x6c696e6b01, kValidation = 0x6c696e6b02,
                        kTest = 0x6c696e6b03;  // streams

using Pair = std::pair<std::int64_t, std::int64_t>;  // (source, destination)

std::string type_of(const Hdf5Array& array) {
  return array.is_bool() ? "bool" : str(array.dtype());
}

NodePairs read_pairs(const Hdf5File& file, const char* name, std::int64_t nodes) {
  if (!file.has(name)) return {};
  const Hdf5Array array = file.array(name);
  check(!is_float(array.dtype()) && !array.is_bool() && array.shape().rank() == 2 && array.shape()[0] == 2,
        array.where(), " must be integer [2, edges], got ", type_of(array), " ", array.shape());
  const Tensor both = array.read(DType::kI64);
  const std::int64_t k = both.dim(1);
  check(k > 0, array.where(), " has no pair: name some, or leave the array out");
  const auto* id = both.data<std::int64_t>();
  for (std::int64_t i = 0; i < 2 * k; ++i)
    check(id[i] >= 0 && id[i] < nodes, array.where(), "[", i / k, ", ", i % k, "] is ", id[i],
          ", outside [0, ", nodes, ")");
  const Tensor flat = both.reshape({2 * k});
  return {flat.slice(0, k).clone(), flat.slice(k, 2 * k).clone()};
}

/// Targets [edges, m] of negatives with the sources of `edges`, as pairs. Returns whether the file has them.
bool read_targets(const Hdf5File& file, const char* name, std::int64_t nodes, const NodePairs& edges,
                  NodePairs& out) {
  if (!file.has(name)) return false;
  const Hdf5Array array = file.array(name);
  check(!out.src.defined(), array.where(),
        ": the file has these negatives as edges, too: leave one of the arrays out");
  const std::int64_t k = edges.src.numel();
  check(!is_float(array.dtype()) && !array.is_bool() && array.shape().rank() == 2 && array.shape()[0] == k &&
            array.shape()[1] > 0,
        array.where(), " must be integer [edges, negatives] with a row for each of the ", k, " edges, got ",
        type_of(array), " ", array.shape());
  const std::int64_t m = array.shape()[1];
  out = {Tensor::empty({k * m}, DType::kI64), array.read(DType::kI64).reshape({k * m})};
  const auto* target = out.dst.data<std::int64_t>();
  for (std::int64_t i = 0; i < k * m; ++i) {
    check(target[i] >= 0 && target[i] < nodes, array.where(), "[", i / m, ", ", i % m, "] is ", target[i],
          ", outside [0, ", nodes, ")");
    out.src.data<std::int64_t>()[i] = edges.src.data<std::int64_t>()[i / m];
  }
  return true;
}

std::vector<Pair> pairs_of(const NodePairs& pairs) {
  std::vector<Pair> out;
  const auto *src = pairs.src.data<std::int64_t>(), *dst = pairs.dst.data<std::int64_t>();
  for (std::int64_t i = 0; i < pairs.src.numel(); ++i) out.emplace_back(src[i], dst[i]);
  return out;
}

NodePairs tensors_of(const std::vector<Pair>& pairs) {
  const auto k = static_cast<std::int64_t>(pairs.size());
  const NodePairs out{Tensor::empty({k}, DType::kI64), Tensor::empty({k}, DType::kI64)};
  for (std::int64_t i = 0; i < k; ++i) {
    out.src.data<std::int64_t>()[i] = pairs[static_cast<std::size_t>(i)].first;
    out.dst.data<std::int64_t>()[i] = pairs[static_cast<std::size_t>(i)].second;
  }
  return out;
}

Pair smaller_first(Pair pair) {
  return {std::min(pair.first, pair.second), std::max(pair.first, pair.second)};
}

/// The edges of a graph, each undirected one once with the smaller node first, ascending.
std::vector<Pair> unique_edges(const Adjacency& adj, bool undirected) {
  const Adjacency by_source = (undirected ? adj : transpose_pattern(adj)).to(kCpu);
  std::vector<Pair> edges;
  edges.reserve(static_cast<std::size_t>(undirected ? adj.num_edges() / 2 : adj.num_edges()));
  const auto* ptr = by_source.csr().row_ptr.data<std::int64_t>();
  const auto* col = by_source.csr().col.data<std::int32_t>();
  for (std::int64_t source = 0; source < adj.rows(); ++source)
    for (std::int64_t e = ptr[source]; e < ptr[source + 1]; ++e)
      if (!undirected || source < col[e]) edges.emplace_back(source, col[e]);
  return edges;
}

/// Whether an edge is in a part: 0 training, 1 validation, 2 test. Its number is the sum of those of its
/// parts, -1 without one.
bool is_in(int number, int part) {
  return part == 0 ? number == 0 : number > 0 && (number & part) != 0;
}

/// The edges of a graph, and where the parts of a split are among them. Messages begin with `where`.
struct SplitGraph {
  std::vector<Pair> edges;  // ascending
  bool undirected;
  std::string where;

  /// The place of a pair in `edges`, or -1.
  std::int64_t place(const Pair& pair) const {
    const Pair wanted = undirected ? smaller_first(pair) : pair;
    const auto found = std::lower_bound(edges.begin(), edges.end(), wanted);
    return found != edges.end() && *found == wanted ? found - edges.begin() : -1;
  }
  /// Adds `number` to `part` of the edges that `pairs` names.
  void take(const NodePairs& pairs, int number, const char* name, std::vector<int>& part) const {
    for (const Pair& pair : pairs_of(pairs)) {
      const std::int64_t at = place(pair);
      check(at >= 0, where, ": the ", name, " edge (", pair.first, ", ", pair.second,
            pair.first == pair.second ? ") is a self loop: leave it out"
                                      : ") is no edge of the graph, which must have those of all parts");
      part[at] |= number;
    }
  }
  void check_negatives(const NodePairs& pairs, const char* name) const {
    if (!pairs.src.defined()) return;
    for (const Pair& pair : pairs_of(pairs))
      check(place(pair) < 0, where, ": the ", name, " negative (", pair.first, ", ", pair.second,
            ") is an edge of the graph: name another pair");
  }
  /// part: of each of `edges`. advice: what to do.
  void check_parts(const std::vector<int>& part, const char* advice) const {
    for (int p = 0; p < 3; ++p)
      check(std::any_of(part.begin(), part.end(), [&](int of) { return is_in(of, p); }), where, ": no ",
            kSetNames[p], " edges of ", edges.size(), ": ", advice);
  }
};

constexpr const char* kNameFewer = "name fewer in /val_edges and /test_edges";

/// Drops the edges whose part is not 0, in both directions where undirected.   part: of each of whole.edges
void keep_edges(const Graph& graph, const SplitGraph& whole, const std::vector<int>& part, Dataset& dataset) {
  // Where in whole.edges the next edge from a node is: rows ascend, and so do the ends of a node's edges.
  std::vector<std::int64_t> next(static_cast<std::size_t>(graph.adj.rows()) + 1);
  for (const Pair& edge : whole.edges) ++next[edge.first + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<std::int32_t> src, dst;
  std::vector<float> weight;
  const auto* ptr = graph.adj.csr().row_ptr.data<std::int64_t>();
  const auto* col = graph.adj.csr().col.data<std::int32_t>();
  for (std::int64_t row = 0; row < graph.adj.rows(); ++row) {
    std::int64_t mirrored = next[row];
    for (std::int64_t e = ptr[row]; e < ptr[row + 1]; ++e) {
      const std::int64_t place = whole.undirected && col[e] > row ? mirrored++ : next[col[e]]++;
      if (part[place] != 0) continue;
      src.push_back(col[e]);
      dst.push_back(static_cast<std::int32_t>(row));
      if (graph.weight.defined()) weight.push_back(graph.weight.data<float>()[e]);
    }
  }
  dataset.src = Tensor::from(src);
  dataset.dst = Tensor::from(dst);
  dataset.indptr = dataset.indices = dataset.edge_weight = dataset.edge_attr = {};
  if (graph.weight.defined()) dataset.edge_weight = Tensor::from(weight);
}

/// The edges of a dataset. No array has an element a node: a small file may claim 2^31 - 1 nodes.
SplitGraph graph_in_file(const std::string& path, const Dataset& dataset) {
  SplitGraph out{{}, true, path};
  const auto add = [&](std::int64_t from, std::int64_t to) {
    if (from != to) out.edges.emplace_back(from, to);
  };
  if (dataset.indptr.defined()) {
    const Tensor ptr = dataset.indptr.to(kCpu), source = dataset.indices.to(kCpu).to(DType::kI32);
    const auto* begin = ptr.data<std::int64_t>();
    for (std::int64_t row = 0; row + 1 < ptr.numel(); ++row)
      for (std::int64_t e = begin[row]; e < begin[row + 1]; ++e) add(source.data<std::int32_t>()[e], row);
  } else {
    const Tensor src = dataset.src.to(kCpu).to(DType::kI32), dst = dataset.dst.to(kCpu).to(DType::kI32);
    for (std::int64_t e = 0; e < src.numel(); ++e)
      add(src.data<std::int32_t>()[e], dst.data<std::int32_t>()[e]);
  }
  std::sort(out.edges.begin(), out.edges.end());
  out.edges.erase(std::unique(out.edges.begin(), out.edges.end()), out.edges.end());
  for (const auto& [from, to] : out.edges)
    out.undirected &= std::binary_search(out.edges.begin(), out.edges.end(), Pair{to, from});
  if (out.undirected) std::erase_if(out.edges, [](const Pair& edge) { return edge.first > edge.second; });
  return out;
}

}  // namespace

EdgeSplit load_edge_split(const std::string& path, std::int64_t num_nodes) {
  const Hdf5File file(path);
  EdgeSplit split;
  split.val = read_pairs(file, "val_edges", num_nodes);
  split.test = read_pairs(file, "test_edges", num_nodes);
  check(split.val.src.defined() == split.test.src.defined(), path, ": has only one of /val_edges and ",
        "/test_edges: a split of the edges needs both");
  for (const std::string part : {"val_negative_", "test_negative_"})
    for (const char* of : {"edges", "targets"})
      check(split.val.src.defined() || !file.has(part + of), path, ": /", part, of,
            " needs /val_edges and /test_edges: give them, too, or leave it out");
  split.val_negative = read_pairs(file, "val_negative_edges", num_nodes);
  split.test_negative = read_pairs(file, "test_negative_edges", num_nodes);
  split.val_by_edge = read_targets(file, "val_negative_targets", num_nodes, split.val, split.val_negative);
  split.test_by_edge =
      read_targets(file, "test_negative_targets", num_nodes, split.test, split.test_negative);
  return split;
}

EdgeSplitSizes edge_split_sizes(const std::string& path, const Dataset& dataset,
                                std::vector<std::string>* findings) {
  const EdgeSplit file = load_edge_split(path, dataset.num_nodes);
  if (!file.val.src.defined()) return {};
  const SplitGraph edges = graph_in_file(path, dataset);
  std::vector<int> part(edges.edges.size(), 0);
  bool valid = true;
  const auto step = [&](auto&& run) { valid &= collect(findings, run); };
  step([&] { edges.take(file.val, 1, "validation", part); });
  step([&] { edges.take(file.test, 2, "test", part); });
  step([&] { edges.check_negatives(file.val_negative, "validation"); });
  step([&] { edges.check_negatives(file.test_negative, "test"); });
  if (valid) step([&] { edges.check_parts(part, kNameFewer); });
  const auto count = [&](int p) {
    return std::count_if(part.begin(), part.end(), [&](int of) { return is_in(of, p); });
  };
  return {count(0), count(1), count(2), std::count(part.begin(), part.end(), 3)};
}

std::string shared_edges_text(std::int64_t in_both, std::int64_t val) {
  if (in_both == 0) return {};
  return str(in_both, " of ", val, " validation edges ", in_both == 1 ? "is a test edge" : "are test edges",
             ", too: both parts are scored on ", in_both == 1 ? "it" : "them");
}

EdgeSplit take_edge_split(Dataset& dataset, const EdgeSplit& file, const EdgeSplitOptions& options) {
  const Graph sorted =
      to_graph(dataset, options.sort_on,
               {.symmetrize = options.symmetrize, .drop_duplicates = true, .self_loops = SelfLoops::kDrop});
  EdgeSplit out;
  out.undirected = count_one_way_edges(sorted.adj) == 0;
  const SplitGraph whole{unique_edges(sorted.adj, out.undirected), out.undirected, "split"};
  const Graph graph{sorted.adj.to(kCpu), sorted.weight.to(kCpu), {}};
  const std::vector<Pair>& edges = whole.edges;
  const auto count = static_cast<std::int64_t>(edges.size());
  check(count >= 3 || options.empty_parts, "split: link prediction needs at least 3 edges, got ", count);

  std::vector<int> part(edges.size(), 0);
  const bool from_file = options.parts.empty() && file.val.src.defined();
  if (from_file) {
    whole.take(file.val, 1, "validation", part);
    whole.take(file.test, 2, "test", part);
    // Negatives of a directed graph may be reverses of its edges, also where those are added.
    const SplitGraph given = options.symmetrize ? graph_in_file("split", dataset) : SplitGraph();
    const SplitGraph& edges_of_file = options.symmetrize ? given : whole;
    edges_of_file.check_negatives(file.val_negative, "validation");
    edges_of_file.check_negatives(file.test_negative, "test");
  } else {
    const Split split = random_split(Tensor::zeros({count}, DType::kI64),
                                     options.parts.empty() ? "85/5/10" : options.parts, options.seed);
    std::fill(part.begin(), part.end(), -1);
    for (const std::int64_t e : split.train.to_vector<std::int64_t>()) part[e] = 0;
    for (const std::int64_t e : split.val.to_vector<std::int64_t>()) part[e] = 1;
    for (const std::int64_t e : split.test.to_vector<std::int64_t>()) part[e] = 2;
  }
  if (!options.empty_parts) whole.check_parts(part, from_file ? kNameFewer : "give other shares");
  std::vector<Pair> parts[3];
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const bool turned = out.undirected && (random_word(options.seed, kDirection, e) & 1);
    for (int p = 0; p < 3; ++p)
      if (is_in(part[e], p)) parts[p].push_back(turned ? Pair{edges[e].second, edges[e].first} : edges[e]);
    out.in_both += part[e] == 3;
  }
  out.train = tensors_of(parts[0]);
  out.val_by_edge = from_file && file.val_by_edge;
  out.test_by_edge = from_file && file.test_by_edge;
  out.val = out.val_by_edge ? file.val : tensors_of(parts[1]);
  out.test = out.test_by_edge ? file.test : tensors_of(parts[2]);
  const auto negatives = [&](const NodePairs& given, const NodePairs& positive, std::uint64_t stream) {
    return from_file && given.src.defined() ? given
                                            : negative_edges(graph.adj, positive.src.numel(),
                                                             RandomKey{options.seed, stream}, options.among);
  };
  out.val_negative = negatives(file.val_negative, out.val, kValidation);
  out.test_negative = negatives(file.test_negative, out.test, kTest);
  keep_edges(graph, whole, part, dataset);
  return out;
}

}  // namespace rodeo
