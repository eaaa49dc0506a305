#include "ops/dense_csr.h"

#include "core/memory_stats.h"
#include "ops/convert.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsDenseCsr : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsDenseCsr);

/// A random matrix with about `density` of it nonzero, and a row that is full.
Tensor sparse_matrix(std::int64_t rows, std::int64_t cols, double density, DType dtype) {
  std::vector<double> values = doubles(random_tensor({rows, cols}, DType::kF64, kCpu, 21));
  for (std::size_t i = 0; i < values.size(); ++i)
    if (to_unit(random_word(22, 0, i)) >= density && static_cast<std::int64_t>(i) >= cols) values[i] = 0;
  return Tensor::from(values, {rows, cols}).to(dtype);
}

struct Entries {
  std::vector<std::int64_t> row_ptr{0};
  std::vector<std::int32_t> col;
  std::vector<double> weight;
};

Entries nonzeros(const Tensor& x) {
  Entries out;
  const std::vector<double> values = doubles(x);
  for (std::int64_t i = 0; i < x.dim(0); ++i) {
    for (std::int64_t j = 0; j < x.dim(1); ++j)
      if (values[i * x.dim(1) + j] != 0) {
        out.col.push_back(static_cast<std::int32_t>(j));
        out.weight.push_back(values[i * x.dim(1) + j]);
      }
    out.row_ptr.push_back(static_cast<std::int64_t>(out.col.size()));
  }
  return out;
}

struct Size {
  std::int64_t rows, cols;
};
constexpr Size kMatrixSizes[] = {{0, 0},    {0, 5},    {5, 0},    {1, 1},    {3, 1},     {7, 31},
                                 {7, 32},   {7, 33},   {5, 128},  {5, 129},  {40, 1000}, {3, 1023},
                                 {3, 1024}, {3, 1025}, {3, 4096}, {2, 4097}, {2, 9000},  {300, 70}};

// Every nonzero in its place, and dense -> CSR -> COO -> CSR -> dense is the matrix again.
TEST_P(OpsDenseCsr, RoundTrip) {
  for (const auto& [rows, cols] : kMatrixSizes)
    for (const double density : {0.0, 0.05, 0.7})
      for (const DType dtype : kFloats) {
        const std::string what = str(rows, " x ", cols, " ", density, " ", dtype);
        const Tensor host = sparse_matrix(rows, cols, density, dtype), x = host.to(device());
        const Poisoned poisoned;
        const WeightedAdjacency a = dense_to_csr(x), scanned = dense_to_csr(x, RowScan::kHost);
        EXPECT_TRUE(same_bits(scanned.adj.csr().row_ptr, a.adj.csr().row_ptr)) << what;
        EXPECT_TRUE(same_bits(scanned.adj.csr().col, a.adj.csr().col)) << what;
        EXPECT_TRUE(same_bits(scanned.weight, a.weight)) << what;
        const Entries want = nonzeros(host);
        ASSERT_EQ(a.adj.csr().row_ptr.to_vector<std::int64_t>(), want.row_ptr) << what;
        ASSERT_EQ(a.adj.csr().col.to_vector<std::int32_t>(), want.col) << what;
        ASSERT_EQ(doubles(a.weight), want.weight) << what;
        ASSERT_EQ(a.weight.dtype(), dtype);
        ASSERT_EQ(a.adj.device(), device());
        ASSERT_TRUE(same_bits(csr_to_dense(a.adj, a.weight), x)) << what;

        const EdgeList coo = csr_to_coo(a.adj);
        const CooResult again = coo_to_csr(coo.row, coo.col, rows, cols, {.edge_ids = true});
        ASSERT_TRUE(same_bits(again.adj.csr().row_ptr, a.adj.csr().row_ptr)) << what;
        ASSERT_TRUE(same_bits(csr_to_dense(again.adj, take(a.weight, again.edge_ids)), x)) << what;
      }
}

/// The most bytes of host tensors during the conversion.
std::int64_t host_bytes(const Tensor& x, RowScan scan) {
  const MemoryGauge host(kCpu);
  dense_to_csr(x, scan);
  return host.bytes();
}

// Both scans have the same result, so what tells them apart is the copy of the counts on the host.
TEST_P(OpsDenseCsr, TheHostScansOnlyIfAsked) {
  if (!device().is_cuda()) GTEST_SKIP() << "everything is on the host";
  const Tensor x = Tensor::zeros({3000, 40}, DType::kF32, device());
  EXPECT_GE(host_bytes(x, RowScan::kHost), 3000 * 8);
  EXPECT_LT(host_bytes(x, RowScan::kDevice), 3000 * 8);
}

TEST_P(OpsDenseCsr, NanIsANonzeroAndMinusZeroIsAZero) {
  for (const DType dtype : kFloats) {
    const Tensor x = Tensor::from(std::vector<double>{0, -0.0, NAN, INFINITY, -0.0, 0, 1, -0.0}, {2, 4})
                         .to(dtype)
                         .to(device());
    const WeightedAdjacency a = dense_to_csr(x);
    EXPECT_EQ(a.adj.csr().row_ptr.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 2, 3}));
    EXPECT_EQ(a.adj.csr().col.to_vector<std::int32_t>(), (std::vector<std::int32_t>{2, 3, 2}));
    const std::vector<double> weight = doubles(a.weight), y = doubles(csr_to_dense(a.adj, a.weight));
    EXPECT_TRUE(std::isnan(weight[0]));
    EXPECT_EQ(weight[1], INFINITY);
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_EQ(y[3], INFINITY);
    EXPECT_FALSE(std::signbit(y[1]));
  }
  // The smallest number of a type is not a zero.
  const Tensor tiny = Tensor::from(std::vector<float>{1e-45f, -1e-45f}, {1, 2}, device());
  EXPECT_EQ(dense_to_csr(tiny).adj.num_edges(), 2);
}

// Duplicates and unsorted rows: the sums in edge order, rounded once, the same bits on every device.
TEST_P(OpsDenseCsr, DenseOfAllCases) {
  for (const SparseCase& sparse_case : sparse_cases()) {
    const Adjacency host = sparse_case.make(), adj = host.to(device());
    if (host.rows() * host.cols() > 2'000'000) continue;
    const auto row_ptr = host.csr().row_ptr.to_vector<std::int64_t>();
    const auto col = host.csr().col.to_vector<std::int32_t>();
    for (const DType dtype : kFloats) {
      const Tensor weight = random_tensor({host.num_edges()}, dtype, kCpu, 4);
      const std::vector<double> w = doubles(weight);
      std::vector<double> sum(static_cast<std::size_t>(host.rows() * host.cols())), count(sum);
      for (std::int64_t i = 0; i < host.rows(); ++i)
        for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e) {
          double& at = sum[i * host.cols() + col[e]];
          at = dtype == DType::kF64 ? at + w[e] : static_cast<float>(at) + static_cast<float>(w[e]);
          count[i * host.cols() + col[e]] += 1;
        }
      const Poisoned poisoned;
      const Shape shape{host.rows(), host.cols()};
      const std::string what = str(sparse_case.name, " ", dtype);
      ASSERT_TRUE(same_bits(csr_to_dense(adj, weight.to(device())), Tensor::from(sum, shape).to(dtype)))
          << what;
      ASSERT_TRUE(same_bits(csr_to_dense(adj, dtype), Tensor::from(count, shape).to(dtype))) << what;
    }
  }
}

TEST_P(OpsDenseCsr, Errors) {
  const Adjacency adj = graph_with_lengths({1, 2, 1}, 3).to(device());
  EXPECT_ERROR(dense_to_csr(Tensor::zeros({4}, DType::kF32, device())),
               "[dense_to_csr] x must be a matrix [m, n], got [4]");
  EXPECT_ERROR(dense_to_csr(Tensor::zeros({4, 2}, DType::kI32, device())),
               "[dense_to_csr] x must be floating point, got i32");
  EXPECT_ERROR(csr_to_dense(adj, Tensor::zeros({3}, DType::kF32, device())),
               "[csr_to_dense] weight must be [4], got [3]");
  EXPECT_ERROR(csr_to_dense(adj, Tensor::zeros({4}, DType::kI64, device())),
               "[csr_to_dense] weight must be floating point, got i64");
  EXPECT_ERROR(csr_to_dense(adj, Tensor()),
               "[csr_to_dense] weight is undefined: give a dtype for an unweighted matrix");
  EXPECT_ERROR(csr_to_dense(adj, DType::kU8), "[csr_to_dense] dtype must be floating point, got u8");
}

}  // namespace
}  // namespace rodeo::test
