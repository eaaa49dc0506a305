#include "ops/convert.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "core/threads.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsConvert : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsConvert);

using Edge = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // row, column, id

// The specification, by the book.
std::vector<Edge> specified(const std::vector<std::int64_t>& row, const std::vector<std::int64_t>& col,
                            std::int64_t nodes, const CooOptions& options) {
  std::vector<Edge> edges;
  for (std::size_t e = 0; e < row.size(); ++e) edges.emplace_back(row[e], col[e], e);
  if (options.symmetrize)
    for (std::size_t e = 0; e < row.size(); ++e) edges.emplace_back(col[e], row[e], e);
  if (options.self_loops == SelfLoops::kDrop)
    std::erase_if(edges, [](const Edge& e) { return std::get<0>(e) == std::get<1>(e); });
  if (options.self_loops == SelfLoops::kAdd)
    for (std::int64_t i = 0; i < nodes; ++i)
      if (std::ranges::none_of(edges,
                               [&](const Edge& e) { return std::get<0>(e) == i && std::get<1>(e) == i; }))
        edges.emplace_back(i, i, -1);
  const auto ends = [](const Edge& e) { return std::pair(std::get<0>(e), std::get<1>(e)); };
  std::ranges::stable_sort(edges, {}, ends);
  if (options.symmetrize || options.drop_duplicates) {
    const auto same = [&](const Edge& a, const Edge& b) { return ends(a) == ends(b); };
    edges.erase(std::unique(edges.begin(), edges.end(), same), edges.end());
  }
  return edges;
}

std::vector<Edge> edges_of(const CooResult& result) {
  const auto row = edge_rows(result.adj).to_vector<std::int32_t>(),
             col = result.adj.csr().col.to_vector<std::int32_t>();
  const auto id = result.edge_ids.to_vector<std::int64_t>();
  std::vector<Edge> edges;
  for (std::size_t e = 0; e < row.size(); ++e) edges.emplace_back(row[e], col[e], id[e]);
  return edges;
}

struct HostEdges {
  std::vector<std::int64_t> row, col;
};

HostEdges random_edges(std::int64_t edges, std::int64_t nodes) {
  HostEdges list;
  for (std::int64_t e = 0; e < edges; ++e) {
    list.row.push_back(random_word(1, 0, e) % nodes);
    list.col.push_back(e % 9 == 0 ? list.row.back() : random_word(2, 0, e) % nodes);  // some self loops
  }
  return list;
}

TEST_P(OpsConvert, CooToCsrAsSpecified) {
  for (const auto& [edges, nodes] :
       {std::pair{0, 5}, {0, 0}, {1, 1}, {300, 20}, {300, 1}, {2000, 700}, {40, 1000}, {40000, 300}}) {
    const HostEdges list = nodes > 0 ? random_edges(edges, nodes) : HostEdges{};
    for (const bool symmetrize : {false, true})
      for (const bool drop : {false, true})
        for (const SelfLoops loops : {SelfLoops::kKeep, SelfLoops::kDrop, SelfLoops::kAdd}) {
          CooOptions options{symmetrize, drop, loops, /*edge_ids=*/true};
          const std::vector<Edge> want = specified(list.row, list.col, nodes, options);
          for (const DType dtype : {DType::kI64, DType::kI32}) {
            const Tensor row = Tensor::from(list.row).to(dtype).to(device()),
                         col = Tensor::from(list.col).to(dtype).to(device());
            const CooResult got = coo_to_csr(row, col, nodes, nodes, options);
            EXPECT_EQ(edges_of(got), want)
                << edges << " edges, " << nodes << " nodes, symmetrize " << symmetrize << ", drop " << drop
                << ", loops " << static_cast<int>(loops);
            options.edge_ids = false;
            const CooResult bare = coo_to_csr(row, col, nodes, nodes, options);
            EXPECT_TRUE(same_bits(bare.adj.csr().col, got.adj.csr().col));
            EXPECT_TRUE(same_bits(bare.adj.csr().row_ptr, got.adj.csr().row_ptr));
            EXPECT_FALSE(bare.edge_ids.defined());
            options.edge_ids = true;
            EXPECT_NO_THROW(Adjacency(got.adj.csr()));  // the full check
          }
        }
  }
}

// One edge in every other row: each part of the list, whatever their number, begins where a row does.
TEST_P(OpsConvert, PartsOfALargeListMayBeginWithARow) {
  constexpr std::int64_t kEdges = 40000, kNodes = 2 * kEdges;
  HostEdges list;
  for (std::int64_t e = kEdges; e-- > 0;) list.row.push_back(2 * e), list.col.push_back(e % 7);
  const int threads = num_threads();
  set_num_threads(4);
  const Poisoned poisoned;
  const Adjacency adj =
      coo_to_csr(Tensor::from(list.row, device()), Tensor::from(list.col, device()), kNodes, kNodes).adj;
  set_num_threads(threads);
  const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
  for (std::int64_t row = 0; row <= kNodes; ++row) ASSERT_EQ(row_ptr[row], (row + 1) / 2) << row;
}

TEST_P(OpsConvert, CooToCsrErrors) {
  const auto ids = [&](std::vector<std::int64_t> values) { return Tensor::from(values, device()); };
  EXPECT_ERROR(coo_to_csr(ids({0, 5, -1}), ids({0, 1, 2}), 3, 3),
               "[coo_to_csr] row of edge 1 is 5, outside [0, 3)");
  EXPECT_ERROR(coo_to_csr(ids({0, 1, 2}), ids({0, 1, -7}), 3, 3),
               "[coo_to_csr] column of edge 2 is -7, outside [0, 3)");
  EXPECT_ERROR(coo_to_csr(ids({0, 1}), ids({0}), 3, 3), "[coo_to_csr] col must be [2], got [1]");
  EXPECT_ERROR(coo_to_csr(ids({0}), ids({0}), 2, 3, {.symmetrize = true}),
               "[coo_to_csr] only a square matrix can be symmetrised or given self loops, got 2 x 3");
  EXPECT_ERROR(coo_to_csr(ids({0}), ids({0}), std::int64_t{1} << 31, 3),
               "[coo_to_csr] rows and cols must be in [0, 2^31 - 1], got 2147483648 x 3");
}

TEST_P(OpsConvert, TransposeOfAllCases) {
  for (const SparseCase& sparse_case : sparse_cases()) {
    const Adjacency host = sparse_case.make(), adj = host.to(device());
    const Transposed t = transpose(adj);
    const auto row = edge_rows(host).to_vector<std::int32_t>(),
               col = host.csr().col.to_vector<std::int32_t>();
    const auto t_row = edge_rows(t.adj).to_vector<std::int32_t>(),
               t_col = t.adj.csr().col.to_vector<std::int32_t>();
    const auto id = t.edge_ids.to_vector<std::int64_t>();
    ASSERT_EQ(id.size(), row.size());
    std::vector<bool> seen(id.size());
    for (std::size_t e = 0; e < id.size(); ++e) {
      ASSERT_FALSE(seen[id[e]]);
      seen[id[e]] = true;
      ASSERT_EQ(t_row[e], col[id[e]]) << sparse_case.name;
      ASSERT_EQ(t_col[e], row[id[e]]) << sparse_case.name;
    }
    EXPECT_TRUE(transpose_pattern(adj) == t.adj);
  }
}

TEST_P(OpsConvert, TransposeOfSymmetricGraphs) {
  // Parallel edges and self loops; then the same with one edge of a parallel pair missing in one direction.
  const std::vector<std::int32_t> row{0, 0, 0, 1, 1, 1, 2, 3, 3}, col{0, 1, 1, 0, 0, 2, 1, 3, 3};
  for (const std::size_t edges : {std::size_t{9}, std::size_t{8}}) {
    const auto some = [&](const std::vector<std::int32_t>& v, std::size_t skip) {
      std::vector<std::int32_t> out = v;
      if (edges == 8) out.erase(out.begin() + static_cast<std::ptrdiff_t>(skip));
      return Tensor::from(out, device());
    };
    const Adjacency adj = coo_to_csr(some(row, 2), some(col, 2), 4, 4).adj;
    EXPECT_EQ(transpose_pattern(adj) == adj, edges == 9);
    const Transposed t = transpose(adj);
    EXPECT_EQ(t.adj == adj, edges == 9);
    if (edges == 9) {
      EXPECT_EQ(t.edge_ids.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 3, 4, 1, 2, 6, 5, 7, 8}));
    }
  }
  // Symmetric, but a row is not sorted: the transpose is.
  const Adjacency unsorted = Adjacency({2, 2, Tensor::from(std::vector<std::int64_t>{0, 2, 3}),
                                        Tensor::from(std::vector<std::int32_t>{1, 0, 0})})
                                 .to(device());
  EXPECT_EQ(transpose(unsorted).adj.csr().col.to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{0, 1, 0}));
  EXPECT_EQ(transpose(unsorted).edge_ids.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 2, 0}));
}

TEST_P(OpsConvert, AddSelfLoops) {
  const HostEdges list = random_edges(500, 60);
  const Tensor row = Tensor::from(list.row, device()), col = Tensor::from(list.col, device());
  const CooResult plain = coo_to_csr(row, col, 61, 61, {.edge_ids = true});
  const CooResult looped = add_self_loops(plain.adj);
  std::vector<Edge> got = edges_of(looped);
  const auto ids = plain.edge_ids.to_vector<std::int64_t>();
  for (auto& [r, c, id] : got)
    if (id >= 0) id = ids[id];
  EXPECT_EQ(got, specified(list.row, list.col, 61, {.self_loops = SelfLoops::kAdd}));
  EXPECT_TRUE(same_bits(add_self_loops(looped.adj).adj.csr().col, looped.adj.csr().col));

  const Adjacency unsorted = Adjacency({2, 2, Tensor::from(std::vector<std::int64_t>{0, 0, 2}),
                                        Tensor::from(std::vector<std::int32_t>{1, 0})})
                                 .to(device());
  EXPECT_ERROR(add_self_loops(unsorted),
               "[add_self_loops] row 1 is not sorted by column: build the graph by coo_to_csr");
}

// Rows 1, 2 and 4 have the column of their position, which with first_row 3 is not their node.
TEST_P(OpsConvert, AddSelfLoopsToSomeRows) {
  using Ids = std::vector<std::int64_t>;
  using Columns = std::vector<std::int32_t>;
  const Adjacency rows({5, 8, Tensor::from(Ids{0, 0, 2, 4, 6, 8}, device()),
                        Tensor::from(Columns{1, 7, 2, 5, 1, 2, 3, 4}, device())});
  const Poisoned poisoned;
  const CooResult from_3 = add_self_loops(rows, 3);
  EXPECT_EQ(from_3.adj.rows(), 5);
  EXPECT_EQ(from_3.adj.cols(), 8);
  EXPECT_EQ(from_3.adj.csr().row_ptr.to_vector<std::int64_t>(), (Ids{0, 1, 4, 6, 9, 12}));
  EXPECT_EQ(from_3.adj.csr().col.to_vector<std::int32_t>(), (Columns{3, 1, 4, 7, 2, 5, 1, 2, 6, 3, 4, 7}));
  EXPECT_EQ(from_3.edge_ids.to_vector<std::int64_t>(), (Ids{-1, 0, -1, 1, 2, 3, 4, 5, -1, 6, 7, -1}));
  const CooResult from_0 = add_self_loops(rows, 0);
  EXPECT_EQ(from_0.adj.csr().row_ptr.to_vector<std::int64_t>(), (Ids{0, 1, 3, 5, 8, 10}));
  EXPECT_EQ(from_0.adj.csr().col.to_vector<std::int32_t>(), (Columns{0, 1, 7, 2, 5, 1, 2, 3, 3, 4}));
  EXPECT_EQ(from_0.edge_ids.to_vector<std::int64_t>(), (Ids{-1, 0, 1, 2, 3, 4, 5, -1, 6, 7}));
  EXPECT_ERROR(add_self_loops(rows, -1), "[add_self_loops] first_row must be in [0, 3], got -1");
  EXPECT_ERROR(add_self_loops(rows, 4), "[add_self_loops] first_row must be in [0, 3], got 4");
  EXPECT_ERROR(add_self_loops(rows), "[add_self_loops] the matrix must be square, got 5 x 8");
}

TEST_P(OpsConvert, Take) {
  const Tensor values = Tensor::from(std::vector<float>{1, 2, 3}, device());
  const Tensor ids = Tensor::from(std::vector<std::int64_t>{2, -1, 0, 0}, device());
  EXPECT_EQ(take(values, ids, 7).to_vector<float>(), (std::vector<float>{3, 7, 1, 1}));
  const Tensor rows = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {3, 2}, device());
  EXPECT_EQ(take(rows, ids, 7).to_vector<float>(), (std::vector<float>{5, 6, 7, 7, 1, 2, 1, 2}));
}

TEST(OpsAdjacency, RejectsWhatIsNotACsr) {
  const auto ptr = [](std::vector<std::int64_t> v) { return Tensor::from(v); };
  const auto col = [](std::vector<std::int32_t> v) { return Tensor::from(v); };
  EXPECT_ERROR(Adjacency({2, 2, ptr({0, 1}), col({0})}), "[adjacency] row_ptr must be i64 [3]");
  EXPECT_ERROR(Adjacency({2, 2, ptr({0, 2, 1}), col({0})}), "[adjacency] row_ptr decreases at row 1: 2 > 1");
  EXPECT_ERROR(Adjacency({2, 2, ptr({1, 1, 1}), col({0})}), "[adjacency] row_ptr[0] must be 0, got 1");
  EXPECT_ERROR(Adjacency({2, 2, ptr({0, 1, 3}), col({0})}),
               "[adjacency] row_ptr ends at 3, but col has 1 edges");
  EXPECT_ERROR(Adjacency({2, 2, ptr({0, 1, 2}), col({0, 2})}), "[adjacency] col[1] = 2 is outside [0, 2)");
  EXPECT_ERROR(Adjacency().rows(), "[adjacency] the graph is undefined");
}

TEST_P(OpsConvert, CountsEdgesWithoutReverse) {
  const auto count = [&](std::vector<std::int64_t> row, std::vector<std::int64_t> col, std::int64_t nodes) {
    return count_one_way_edges(
        coo_to_csr(Tensor::from(row, device()), Tensor::from(col, device()), nodes, nodes).adj);
  };
  EXPECT_EQ(count({}, {}, 0), 0);
  EXPECT_EQ(count({}, {}, 3), 0);
  EXPECT_EQ(count({0, 1, 2}, {1, 0, 2}, 3), 0);  // a self loop is its own reverse
  EXPECT_EQ(count({0, 0, 1}, {1, 1, 0}, 3), 0);  // parallel edges share one
  EXPECT_EQ(count({0, 0, 1, 2}, {1, 1, 2, 1}, 3), 2);
  const HostEdges random = random_edges(5000, 200);
  std::set<std::pair<std::int64_t, std::int64_t>> all;
  for (std::size_t e = 0; e < random.row.size(); ++e) all.emplace(random.row[e], random.col[e]);
  std::int64_t expected = 0;
  for (std::size_t e = 0; e < random.row.size(); ++e)
    expected += !all.contains({random.col[e], random.row[e]});
  EXPECT_GT(expected, 0);
  EXPECT_EQ(count(random.row, random.col, 200), expected);
  std::vector<std::int64_t> leaves(99);
  for (std::size_t i = 0; i < leaves.size(); ++i) leaves[i] = static_cast<std::int64_t>(i);
  EXPECT_EQ(count(std::vector<std::int64_t>(99), leaves, 99), 98);  // a row longer than a warp
  EXPECT_ERROR(count_one_way_edges(Adjacency({1, 2, Tensor::from(std::vector<std::int64_t>{0, 0}, device()),
                                              Tensor::empty({0}, DType::kI32, device())})),
               "[count_one_way_edges] the matrix must be square, got 1 x 2");
  EXPECT_ERROR(
      count_one_way_edges(Adjacency({2, 2, Tensor::from(std::vector<std::int64_t>{0, 2, 2}, device()),
                                     Tensor::from(std::vector<std::int32_t>{1, 0}, device())})),
      "[count_one_way_edges] row 0 is not sorted by column: build the graph by coo_to_csr");
}

TEST_P(OpsConvert, TheFirstNodePastTheEndIsNamed) {
  const Tensor inside = Tensor::from(std::vector<std::int64_t>{0, 2}, device()),
               past = Tensor::from(std::vector<std::int64_t>{2, 3}, device());
  EXPECT_ERROR(coo_to_csr(past, inside, 3, 3), "[coo_to_csr] row of edge 1 is 3, outside [0, 3)");
  EXPECT_ERROR(coo_to_csr(inside, past, 3, 3), "[coo_to_csr] column of edge 1 is 3, outside [0, 3)");
}

// Row 0 has two edges to 1, which are apart, and row 1 has one edge to 0.
TEST_P(OpsConvert, TransposesUnsortedRows) {
  const Adjacency adj({3, 3, Tensor::from(std::vector<std::int64_t>{0, 3, 4, 5}, device()),
                       Tensor::from(std::vector<std::int32_t>{1, 2, 1, 0, 0}, device())});
  const Adjacency t = transpose_pattern(adj);
  EXPECT_EQ(t.csr().row_ptr.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 2, 4, 5}));
  EXPECT_EQ(t.csr().col.to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 2, 0, 0, 0}));
  EXPECT_EQ(transpose(adj).edge_ids.to_vector<std::int64_t>(), (std::vector<std::int64_t>{3, 4, 0, 2, 1}));
  EXPECT_ERROR(add_self_loops(adj),
               "[add_self_loops] row 0 is not sorted by column: build the graph by coo_to_csr");
  // An unsorted list of these edges becomes sorted, symmetrised and free of duplicates.
  const Adjacency both =
      coo_to_csr(Tensor::from(std::vector<std::int64_t>{2, 0, 0, 0}, device()),
                 Tensor::from(std::vector<std::int64_t>{0, 2, 1, 1}, device()), 3, 3, {.symmetrize = true})
          .adj;
  EXPECT_EQ(both.csr().row_ptr.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 2, 3, 4}));
  EXPECT_EQ(both.csr().col.to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 2, 0, 0}));
}

}  // namespace
}  // namespace rodeo::test
