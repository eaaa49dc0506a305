#include "bench/dense_graph.h"

#include <algorithm>
#include <cstdio>

#include "core/error.h"
#include "core/random.h"
#include "core/text.h"
#include "datasets/reorder.h"

namespace rodeo::bench {
namespace {

const DenseGraph kGraphs[] = {
    {"ddi", 4096, 512, 90}, {"fraud", 45'056, 256, 60}, {"protein", 131'072, 512, 90}};

/// The columns of a row, in the order of blocks.
std::vector<std::int64_t> columns_of(const DenseGraph& graph, std::int64_t row) {
  constexpr std::uint64_t kSeed = 0x626c6f63;
  const std::int64_t begin = row / graph.block * graph.block,
                     end = std::min(begin + graph.block, graph.nodes);
  std::vector<std::int64_t> all;
  for (std::int64_t c = begin; c < end; ++c) {
    const auto [low, high] = std::minmax(row, c);
    const float drawn = to_unit(
        random_word(kSeed, static_cast<std::uint64_t>(low) + 1, static_cast<std::uint64_t>(high - low)));
    if (100 * drawn < static_cast<float>(graph.percent)) all.push_back(c);
  }
  const std::int64_t outside = graph.nodes - (end - begin);
  for (int i = 0; outside > 0 && i < DenseGraph::kNoise; ++i) {
    const auto at = static_cast<std::uint64_t>(row * DenseGraph::kNoise + i);
    const std::int64_t c = random_word(kSeed, 0, at) % outside;
    all.push_back(c < begin ? c : c + (end - begin));
  }
  return all;
}

}  // namespace

std::string dense_graph_names() {
  return join(kGraphs, ", ", &DenseGraph::name);
}

DenseGraph parse_dense_graph(const std::string& text) {
  for (const DenseGraph& graph : kGraphs)
    if (graph.name == text) return {text + "-like", graph.nodes, graph.block, graph.percent};
  DenseGraph graph{text, 0, 0, 0};
  int used = 0;
  const bool read =
      std::sscanf(text.c_str(), "%8ld-%8ld-%3d%n", &graph.nodes, &graph.block, &graph.percent, &used) == 3;
  check(read && used == std::ssize(text) && graph.nodes > 0 && graph.block > 0 && graph.percent > 0 &&
            graph.percent <= 100,
        "--dense must be of ", dense_graph_names(), " or NODES-BLOCK-PERCENT, got '", text, "'");
  return graph;
}

Adjacency make_dense_graph(const DenseGraph& graph, bool shuffled) {
  const auto n = static_cast<std::size_t>(graph.nodes);
  std::vector<std::int64_t> old_id, new_id;
  if (shuffled) {
    const Tensor order = random_order(graph.nodes, 1);
    old_id = order.to_vector<std::int64_t>(), new_id = inverse_order(order).to_vector<std::int64_t>();
  }
  std::vector<std::vector<std::int32_t>> rows(n);
#pragma omp parallel for schedule(dynamic, 64)
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = shuffled ? old_id[i] : static_cast<std::int64_t>(i);
    for (const std::int64_t c : columns_of(graph, row))
      rows[i].push_back(static_cast<std::int32_t>(shuffled ? new_id[static_cast<std::size_t>(c)] : c));
    std::ranges::sort(rows[i]);
    rows[i].erase(std::unique(rows[i].begin(), rows[i].end()), rows[i].end());
  }
  std::vector<std::int64_t> row_ptr{0};
  std::vector<std::int32_t> col;
  for (const auto& row : rows) {
    col.insert(col.end(), row.begin(), row.end());
    row_ptr.push_back(std::ssize(col));
  }
  return Adjacency({graph.nodes, graph.nodes, Tensor::from(row_ptr), Tensor::from(col)});
}

}  // namespace rodeo::bench
