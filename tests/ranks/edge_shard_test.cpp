// Rows that ranks make of their parts of the edges of a file, against those of one process.
#include "train/task/edge_shard.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/random.h"
#include "datasets/dataset.h"
#include "ops/convert.h"
#include "tests/ranks/ranks.h"

namespace rodeo::test {
namespace {

/// 50 nodes, some without edges; with duplicates, self loops and edges of one direction.
Dataset random_graph(std::int64_t edges, bool symmetric, bool weighted, bool csr) {
  Dataset data;
  data.num_nodes = 50;
  std::vector<std::int64_t> src, dst;
  std::vector<float> weight;
  for (std::int64_t e = 0; e < edges; ++e) {
    const auto end = [&](std::uint64_t which) {
      return static_cast<std::int64_t>(random_word(which, 3, static_cast<std::uint64_t>(e)) % 45);
    };
    src.push_back(end(1)), dst.push_back(end(2));
    if (symmetric) src.push_back(dst.back()), dst.push_back(end(1));
  }
  for (std::size_t e = 0; e < src.size(); ++e) weight.push_back(static_cast<float>(e % 13) + 0.5f);
  data.src = Tensor::from(src), data.dst = Tensor::from(dst);
  if (weighted) data.edge_weight = Tensor::from(weight);
  if (csr) {
    const CooResult rows = coo_to_csr(data.dst, data.src, 50, 50, {.edge_ids = true});
    data.indptr = rows.adj.csr().row_ptr, data.indices = rows.adj.csr().col;
    if (weighted) data.edge_weight = take(data.edge_weight, rows.edge_ids);
    data.src = data.dst = {};
  }
  return data;
}

template <class T>
std::vector<T> part(const Tensor& x, std::int64_t begin, std::int64_t end) {
  return x.slice(begin, end).to_vector<T>();
}

void expect_rows(const EdgeShard& share, const Adjacency& adj, const Tensor& weight) {
  const Csr& all = adj.csr();
  const std::int64_t first = share.nodes->first_row(), rows = share.nodes->num_rows();
  const std::vector<std::int64_t> row_ptr = all.row_ptr.to_vector<std::int64_t>();
  const std::int64_t begin = row_ptr[static_cast<std::size_t>(first)],
                     end = row_ptr[static_cast<std::size_t>(first + rows)];
  std::vector<std::int64_t> expected = part<std::int64_t>(all.row_ptr, first, first + rows + 1);
  for (std::int64_t& at : expected) at -= begin;
  EXPECT_EQ(share.rows.row_ptr.to_vector<std::int64_t>(), expected);
  EXPECT_EQ(share.rows.col.to_vector<std::int32_t>(), part<std::int32_t>(all.col, begin, end));
  if (weight.defined()) {
    EXPECT_EQ(share.weight.to_vector<float>(), part<float>(weight, begin, end));
  }
}

TEST(TrainRanksEdges, RowsAreThoseOfOneProcess) {
  const std::string path = shared_path("edge_shard.h5");
  for (const std::int64_t edges : {0, 1, 3, 200})
    for (int bits = 0; bits < 16; ++bits) {
      const bool symmetric = bits & 1, weighted = bits & 2, csr = bits & 4, undirected = bits & 8;
      SCOPED_TRACE(str(edges, " edges, case ", bits));
      const Dataset data = random_graph(edges, symmetric, weighted, csr);
      if (ranks().rank() == 0) save_dataset(data, path);
      ranks().barrier();
      const EdgeShard share = shard_edges(load_edge_part(path, 50, ranks().rank(), ranks().size()), 50,
                                          undirected, 8, ranks(), device());
      ranks().barrier();
      const Graph graph = to_graph(data, kCpu, {.symmetrize = undirected});
      expect_rows(share, graph.adj, graph.weight);
      EXPECT_EQ(share.num_edges, graph.adj.num_edges());
      EXPECT_EQ(share.one_way_edges, count_one_way_edges(graph.adj));
      EXPECT_EQ(share.symmetric, transpose_pattern(graph.adj) == graph.adj);
      const CooResult looped = add_self_loops(graph.adj);
      expect_rows(with_self_loops(share), looped.adj,
                  graph.weight.defined() ? take(graph.weight, looped.edge_ids, 1) : Tensor());
    }
}

TEST(TrainRanksEdges, BadFilesAreErrors) {
  const std::string path = shared_path("edge_shard_bad.h5");
  Dataset data = random_graph(20, false, false, false);
  data.num_nodes = 50;
  if (ranks().rank() == 0) save_dataset(data, path);
  ranks().barrier();
  try {
    load_edge_part(path, 5, 0, 1);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/edge_index[0, "), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("outside [0, 5)"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace rodeo::test
