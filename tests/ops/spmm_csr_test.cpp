// CSR SpMM: rows around the length from which partial sums are kept, and every column tile. Operands are
// small integers, whose sums are exact: a lost or a wrong nonzero cannot hide in a tolerance.
#include "ops/kernels/sparse.h"
#include "ops/plan/rode_plan.h"
#include "ops/sparse/graph_plans.h"
#include "ops/spmm.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsSpmmCsr : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsSpmmCsr);

/// Integers in [-1, 1].
Tensor integers(const Shape& shape, DType dtype, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(random_word(seed, 0, i) % 3) - 1;
  return Tensor::from(values, shape).to(dtype);
}

void expect_exact(const Adjacency& host, Device device, DType dtype, std::int64_t n) {
  const Adjacency adj = host.to(device);
  const Tensor x = integers({host.cols(), n}, dtype, 1), weights = integers({host.num_edges()}, dtype, 2);
  for (const Tensor& weight : {Tensor(), weights}) {
    const Poisoned poisoned;
    const Tensor want = Tensor::from(spmm_reference(host, weight, x).y).to(dtype);
    const SpmmOptions options{SpmmAlgorithm::kCsr};
    const Tensor y = weight.defined() ? spmm(adj, weight.to(device), x.to(device), options)
                                      : spmm(adj, x.to(device), options);
    EXPECT_TRUE(near(y, doubles(want), 0)) << dtype << " n=" << n << (weight.defined() ? " weighted" : "");
  }
}

// A warp with one long row takes the path with partial sums for all its rows.
TEST_P(OpsSpmmCsr, LongRowsAreExact) {
  constexpr std::int64_t kPart = RodePlan::kSplit;
  std::vector<std::int64_t> lengths;
  for (const std::int64_t parts : {1, 2, 4})
    for (std::int64_t delta = -1; delta <= 1; ++delta) lengths.push_back(parts * kPart + delta);
  for (std::int64_t i = 0; i < 40; ++i) lengths.push_back(i);
  lengths.insert(lengths.end(), {0, 5000, 0, 0, 3, 40'000});
  const Adjacency host = graph_with_lengths(lengths, 300);
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64})
    for (const std::int64_t n : {1, 7, 16, 41, 64, 100}) expect_exact(host, device(), dtype, n);
}

/// Row i has columns i, i + 1, ...: consecutive rows have nearly all columns in common.
Adjacency band(std::int64_t rows) {
  std::vector<std::int64_t> row_ptr{0};
  std::vector<std::int32_t> col;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t length = i == 77 ? 700 : 20 + i % 15;
    for (std::int64_t e = 0; e < length; ++e) col.push_back(static_cast<std::int32_t>(i + e));
    row_ptr.push_back(static_cast<std::int64_t>(col.size()));
  }
  return Adjacency({rows, rows + 800, Tensor::from(row_ptr), Tensor::from(col)});
}

TEST_P(OpsSpmmCsr, LocalRowsAreExact) {
  const Adjacency host = band(500);
  ASSERT_TRUE(row_locality(host).is_local());
  for (const DType dtype : {DType::kF16, DType::kF32})
    for (const std::int64_t n : {3, 8, 16, 24, 32, 47, 48, 64, 96, 100, 128, 192, 200, 256, 320, 602})
      expect_exact(host, device(), dtype, n);
}

// The choice of tiles may change with the measured locality, so it must not change results.
TEST_P(OpsSpmmCsr, TilesDoNotChangeBits) {
  const Adjacency host = graph_with_lengths({600, 3, 27, 27, 0, 31, 32, 33, 9, 2100}, 400),
                  adj = host.to(device());
  for (const DType dtype : {DType::kF16, DType::kF32})
    for (const std::int64_t n : {16, 32, 64, 100, 128, 256, 300})
      for (const bool weighted : {false, true}) {
        const Tensor x = random_tensor({400, n}, dtype, device());
        const Tensor weight = weighted ? random_tensor({adj.num_edges()}, dtype, device(), 3) : Tensor();
        const auto product = [&](const RowLocality& locality) {
          const Tensor y = Tensor::empty({adj.rows(), n}, dtype, device());
          kernels::spmm_csr.on(device())(adj.csr(), locality, weight, x, y);
          return y;
        };
        EXPECT_TRUE(same_bits(product({100, 10}), product({100, 100}))) << dtype << " n=" << n;
      }
}

}  // namespace
}  // namespace rodeo::test
