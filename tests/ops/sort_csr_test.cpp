#include <numeric>

#include "ops/convert.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

class OpsSortCsr : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsSortCsr);

std::vector<CooOptions> all_options(bool square) {
  std::vector<CooOptions> all;
  for (const bool symmetrize : {false, true})
    for (const bool drop : {false, true})
      for (const SelfLoops loops : {SelfLoops::kKeep, SelfLoops::kDrop, SelfLoops::kAdd})
        if (square || (!symmetrize && loops == SelfLoops::kKeep))
          all.push_back({symmetrize, drop, loops, /*edge_ids=*/true});
  return all;
}

std::vector<std::int64_t> ids_of(const CooResult& result) {
  if (result.edge_ids.defined()) return result.edge_ids.to_vector<std::int64_t>();
  std::vector<std::int64_t> unmoved(static_cast<std::size_t>(result.adj.num_edges()));
  std::iota(unmoved.begin(), unmoved.end(), 0);
  return unmoved;
}

void expect_same_as_edge_list(const Adjacency& host, Device device) {
  const Adjacency adj = host.to(device);
  const Csr& csr = adj.csr();
  for (const CooOptions& options : all_options(csr.rows == csr.cols)) {
    const CooResult want = coo_to_csr(edge_rows(adj), csr.col, csr.rows, csr.cols, options);
    for (const DType dtype : {DType::kI32, DType::kI64}) {
      const CooResult got = sort_csr(csr.row_ptr, csr.col.to(dtype), csr.rows, csr.cols, options);
      EXPECT_TRUE(same_bits(got.adj.csr().row_ptr, want.adj.csr().row_ptr));
      EXPECT_TRUE(same_bits(got.adj.csr().col, want.adj.csr().col));
      EXPECT_EQ(ids_of(got), want.edge_ids.to_vector<std::int64_t>());
    }
  }
}

TEST_P(OpsSortCsr, EqualsTheEdgeListOfEveryCase) {
  for (const SparseCase& sparse_case : sparse_cases()) {
    const Adjacency graph = sparse_case.make();
    if (graph.num_edges() > 200'000) continue;
    SCOPED_TRACE(sparse_case.name);
    expect_same_as_edge_list(graph, device());  // some are unsorted, some have duplicates
    const EdgeList edges = csr_to_coo(graph);
    expect_same_as_edge_list(coo_to_csr(edges.row, edges.col, graph.rows(), graph.cols()).adj, device());
    if (graph.rows() != graph.cols()) continue;
    for (const SelfLoops loops : {SelfLoops::kKeep, SelfLoops::kDrop})
      expect_same_as_edge_list(coo_to_csr(edges.row, edges.col, graph.rows(), graph.cols(),
                                          {.symmetrize = true, .self_loops = loops})
                                   .adj,
                               device());
  }
}

TEST_P(OpsSortCsr, SharesTheMemoryOfSortedRows) {
  const auto ptr = [&](std::vector<std::int64_t> v) { return Tensor::from(v, device()); };
  const auto col = [&](std::vector<std::int32_t> v) { return Tensor::from(v, device()); };
  const auto shares = [&](const Tensor& row_ptr, const Tensor& columns, CooOptions options) {
    options.edge_ids = true;
    const CooResult got = sort_csr(row_ptr, columns, 3, 3, options);
    EXPECT_EQ(got.adj.csr().col.raw() == columns.raw(), !got.edge_ids.defined());
    return got.adj.csr().col.raw() == columns.raw();
  };
  const Tensor row_ptr = ptr({0, 2, 3, 4});
  EXPECT_TRUE(shares(row_ptr, col({1, 2, 0, 0}), {}));
  EXPECT_TRUE(shares(row_ptr, col({1, 1, 0, 0}), {}));  // equal columns keep their order
  EXPECT_FALSE(shares(row_ptr, col({2, 1, 0, 0}), {}));
  EXPECT_TRUE(shares(row_ptr, col({1, 2, 0, 0}), {.symmetrize = true}));
  EXPECT_FALSE(shares(row_ptr, col({1, 2, 0, 1}), {.symmetrize = true}));
  EXPECT_FALSE(shares(row_ptr, col({1, 1, 0, 0}), {.drop_duplicates = true}));
  EXPECT_FALSE(shares(row_ptr, col({1, 2, 0, 0}), {.self_loops = SelfLoops::kAdd}));
}

TEST_P(OpsSortCsr, Errors) {
  const auto ptr = [&](std::vector<std::int64_t> v) { return Tensor::from(v, device()); };
  const auto col = [&](std::vector<std::int64_t> v) { return Tensor::from(v, device()); };
  const auto narrow = [&](std::vector<std::int32_t> v) { return Tensor::from(v, device()); };
  EXPECT_ERROR(sort_csr(ptr({0, 1}), col({0}), 2, 2), "[sort_csr] row_ptr must be i64 [3]");
  EXPECT_ERROR(sort_csr(ptr({1, 1, 1}), col({0}), 2, 2),
               "[sort_csr] row_ptr must rise from 0 to the number of edges, 1, but row_ptr[0] is 1");
  EXPECT_ERROR(sort_csr(ptr({0, 2, 1}), narrow({0}), 2, 2),
               "[sort_csr] row_ptr must rise from 0 to the number of edges, 1, but row_ptr[2] is 1");
  EXPECT_ERROR(sort_csr(ptr({0, 1, std::int64_t{1} << 60}), narrow({0}), 2, 2),
               "[sort_csr] row_ptr must rise from 0 to the number of edges, 1, but row_ptr[2] is "
               "1152921504606846976");
  EXPECT_ERROR(sort_csr(ptr({0, 1, 2}), narrow({0, 2}), 2, 2),
               "[sort_csr] column of edge 1 is 2, outside [0, 2)");
  EXPECT_ERROR(sort_csr(ptr({0, 1, 2}), col({0, std::int64_t{1} << 32}), 2, 2),
               "[sort_csr] column of edge 1 is 4294967296, outside [0, 2)");
  EXPECT_ERROR(sort_csr(ptr({0, 1, 1}), narrow({2}), 2, 3, {.symmetrize = true}),
               "[sort_csr] only a square matrix can be symmetrised or given self loops, got 2 x 3");
  EXPECT_ERROR(sort_csr(ptr({0, 0}), Tensor::empty({0}, DType::kF32, device()), 1, 1),
               "[sort_csr] column must be i32 or i64 [edges]");
}

}  // namespace
}  // namespace rodeo::test
