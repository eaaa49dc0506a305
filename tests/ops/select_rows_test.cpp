#include "ops/select_rows.h"

#include "ops/convert.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsSelectRows : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsSelectRows);

TEST_P(OpsSelectRows, TheirEdgesInTheirOrder) {
  for (const SparseCase& sparse_case : sparse_cases()) {
    SCOPED_TRACE(sparse_case.name);
    const Adjacency host = sparse_case.make(), adj = host.to(device());
    std::vector<std::int64_t> rows;
    for (std::int64_t i = host.rows() - 1; i >= 0; i -= 3) rows.insert(rows.end(), {i, i / 2});
    const Poisoned poisoned;
    const RowSelection got = select_rows(adj, Tensor::from(rows, device()), true);
    EXPECT_EQ(got.adj.rows(), static_cast<std::int64_t>(rows.size()));
    EXPECT_EQ(got.adj.cols(), host.cols());
    const auto from = host.csr().row_ptr.to_vector<std::int64_t>();
    const auto col = host.csr().col.to_vector<std::int32_t>();
    std::vector<std::int64_t> ids, row_ptr{0};
    std::vector<std::int32_t> cols;
    for (const std::int64_t row : rows) {
      for (std::int64_t e = from[row]; e < from[row + 1]; ++e) ids.push_back(e), cols.push_back(col[e]);
      row_ptr.push_back(static_cast<std::int64_t>(ids.size()));
    }
    EXPECT_EQ(got.adj.csr().row_ptr.to_vector<std::int64_t>(), row_ptr);
    EXPECT_EQ(got.adj.csr().col.to_vector<std::int32_t>(), cols);
    EXPECT_EQ(got.edge_ids.to_vector<std::int64_t>(), ids);
    EXPECT_FALSE(select_rows(adj, Tensor::from(rows, device())).edge_ids.defined());
  }
}

TEST_P(OpsSelectRows, OfAGraphWithWeights) {
  const Adjacency adj =
      add_self_loops(graph_with_lengths(std::vector<std::int64_t>(9, 0), 9)).adj.to(device());
  const GcnGraph graph = gcn_norm(adj, random_tensor({9}, DType::kF64, device(), 3));
  const GcnGraph some = select_rows(graph, Tensor::from(std::vector<std::int64_t>{7, 2}, device()));
  const std::vector<double> weight = doubles(graph.weight), scale = doubles(graph.scale);
  EXPECT_EQ(doubles(some.weight), (std::vector<double>{weight[7], weight[2]}));
  EXPECT_EQ(doubles(some.scale), (std::vector<double>{scale[7], scale[2]}));
}

TEST_P(OpsSelectRows, EmptyAndErrors) {
  const Adjacency adj = graph_with_lengths({2, 0, 3}, 4).to(device());
  const auto ids = [](const std::vector<std::int64_t>& rows) { return Tensor::from(rows, device()); };
  EXPECT_EQ(select_rows(adj, ids({})).adj.rows(), 0);
  EXPECT_EQ(select_rows(adj, ids({1, 1})).adj.num_edges(), 0);
  EXPECT_ERROR(select_rows(adj, ids({0, 3})), "[select_rows] rows[1] = 3 is outside [0, 3)");
  EXPECT_ERROR(select_rows(adj, Tensor::zeros({2}, DType::kI32, device())),
               "[select_rows] rows must be i64 [k]");
}

}  // namespace
}  // namespace rodeo::test
