#include "ops/gcn_norm.h"

#include "ops/convert.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"

namespace rodeo::test {
namespace {

class OpsGcnNorm : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsGcnNorm);

// Edge (row, column, weight) of a small directed graph with a self loop, an isolated node and a repeated
// edge.
struct Weighted {
  std::vector<std::int64_t> row{0, 1, 1, 2, 2, 2, 0}, col{1, 0, 2, 2, 0, 0, 3};
  std::vector<double> weight{0.5, 2, 1, 3, 0.25, 0.25, 1};
  static constexpr std::int64_t kNodes = 5;
};

std::vector<double> dense_norm(const Weighted& g, bool weighted) {
  constexpr std::int64_t n = Weighted::kNodes;
  std::vector<double> a(n * n), degree(n);
  std::vector<bool> looped(n);
  for (std::size_t e = 0; e < g.row.size(); ++e) {
    a[g.row[e] * n + g.col[e]] += weighted ? g.weight[e] : 1;
    if (g.row[e] == g.col[e]) looped[g.row[e]] = true;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    if (!looped[i]) a[i * n + i] += 1;
    for (std::int64_t j = 0; j < n; ++j) degree[i] += a[i * n + j];
  }
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) a[i * n + j] /= std::sqrt(degree[i]) * std::sqrt(degree[j]);
  return a;
}

TEST_P(OpsGcnNorm, PropagateEqualsTheDenseFormula) {
  const Weighted g;
  constexpr std::int64_t n = Weighted::kNodes, width = 3;
  const CooResult graph =
      coo_to_csr(Tensor::from(g.row, device()), Tensor::from(g.col, device()), n, n, {.edge_ids = true});
  const Tensor weight = take(Tensor::from(g.weight, device()), graph.edge_ids);
  const Tensor x = random_tensor({n, width}, DType::kF64, device());
  const std::vector<double> xv = doubles(x);
  for (const bool weighted : {false, true}) {
    const std::vector<double> a = dense_norm(g, weighted);
    std::vector<double> want(n * width);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t k = 0; k < width; ++k) want[i * width + k] += a[i * n + j] * xv[j * width + k];
    const GcnGraph norm = gcn_norm(graph.adj, weighted ? weight : Tensor(), DType::kF64);
    EXPECT_EQ(norm.weight.defined(), weighted);
    EXPECT_TRUE(near(propagate(norm, x), want, 1e-13, 1e-15));
    EXPECT_TRUE(gradients_ok([&](const auto& in) { return propagate(norm, in[0]); },
                             {random_variable({n, width}, device())}));
  }
}

TEST_P(OpsGcnNorm, NegativeDegreesScaleByZero) {
  const CooResult graph = coo_to_csr(Tensor::from(std::vector<std::int64_t>{0}, device()),
                                     Tensor::from(std::vector<std::int64_t>{1}, device()), 2, 2);
  const GcnGraph norm = gcn_norm(graph.adj, Tensor::from(std::vector<float>{-5}, device()));
  EXPECT_EQ(norm.scale.to_vector<float>(), (std::vector<float>{0, 1}));
  const GcnGraph zero = gcn_norm(graph.adj, Tensor::from(std::vector<float>{-1}, device()));
  EXPECT_EQ(zero.scale.to_vector<float>(), (std::vector<float>{0, 1}));  // -1 and a self loop of 1
}

TEST_P(OpsGcnNorm, NormalizeRows) {
  const Tensor x = Tensor::from(std::vector<float>{1, 3, 0, 0, -2, 2}, {3, 2}, device());
  EXPECT_EQ(normalize_rows(x).to_vector<float>(), (std::vector<float>{0.25, 0.75, 0, 0, -0.5, 0.5}));
  const Tensor wide = random_tensor({17, 301}, DType::kF64, device());
  std::vector<double> want = doubles(wide);
  for (int i = 0; i < 17; ++i) {
    double sum = 0;
    for (int j = 0; j < 301; ++j) sum += std::abs(want[i * 301 + j]);
    for (int j = 0; j < 301; ++j) want[i * 301 + j] /= sum;
  }
  EXPECT_TRUE(near(normalize_rows(wide), want, 1e-13));
}

TEST_P(OpsGcnNorm, ScaleRows) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16}) {
    const Tensor x = random_tensor({40, 33}, dtype, device(), 1), s = random_tensor({40}, dtype, device(), 2);
    std::vector<double> want = doubles(x), sv = doubles(s);
    for (std::size_t i = 0; i < want.size(); ++i) want[i] *= sv[i / 33];
    EXPECT_TRUE(near(scale_rows(x, s), want, epsilon(dtype), 1e-7));
  }
  const Tensor s = random_tensor({4}, DType::kF64, device(), 2);
  EXPECT_TRUE(gradients_ok([&](const auto& in) { return scale_rows(in[0], s); },
                           {random_variable({4, 3}, device())}));
  EXPECT_ERROR(scale_rows(Tensor::zeros({2, 3}, DType::kF64, device()), s),
               "[scale_rows] s must be [2], got [4]");
}

}  // namespace
}  // namespace rodeo::test
