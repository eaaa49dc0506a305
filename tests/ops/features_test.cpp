#include "ops/features.h"

#include "ops/dense.h"
#include "ops/dense_csr.h"
#include "ops/gcn_norm.h"
#include "ops/linear.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsFeatures : public OnDevice {
 protected:
  /// 40 x 30, unsorted and with repeats.
  static Adjacency small() {
    std::vector<std::int64_t> lengths;
    for (std::int64_t i = 0; i < 40; ++i) lengths.push_back(i % 7);
    return graph_with_lengths(lengths, 30).to(device());
  }
};
RODEO_ON_ALL_DEVICES(OpsFeatures);

constexpr RandomKey kFeatureKey{11, 5};

std::vector<double> magnitudes(const Tensor& x) {
  std::vector<double> out = doubles(x);
  for (double& v : out) v = std::abs(v);
  return out;
}

/// |a| |b| in float64: what the rounding of a product is relative to.
std::vector<double> product_scale(const Tensor& a, const Tensor& b, Transpose ta = Transpose::kNo) {
  return doubles(matmul(Tensor::from(magnitudes(a), a.shape()), Tensor::from(magnitudes(b), b.shape()), ta));
}

// The product and its gradient, with dropout and a row scale, against the dense matrix in float64.
TEST_P(OpsFeatures, SparseIsDense) {
  for (const SparseCase& sparse_case : sparse_cases())
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16})
      for (const std::int64_t n : {1, 7, 16, 33}) {
        SCOPED_TRACE(str(sparse_case.name, " ", dtype, " ", n));
        const Adjacency adj = sparse_case.make().to(device());
        const Tensor value = random_tensor({adj.num_edges()}, dtype, device(), 1);
        const Tensor host_w = random_tensor({adj.cols(), n}, dtype, kCpu, 2);
        const Tensor host_dy = random_tensor({adj.rows(), n}, dtype, kCpu, 3);
        const double p = n == 16 ? 0 : 0.4;
        const Tensor scale = n == 7 ? Tensor() : positive(adj.rows(), dtype, device());

        const Poisoned poisoned;
        const Features x = dropout(sparse_features(adj, value), p, kFeatureKey, scale);
        const Variable w(host_w.to(device()), true);
        const Variable y = matmul(x, w);
        y.backward(host_dy.to(device()));

        const Tensor dense = csr_to_dense(adj, value);
        const Tensor used = dropout(Features(dense), p, kFeatureKey, scale).dense().value().to(kCpu);
        const Tensor wide = used.to(DType::kF64);
        const double eps = sum_tolerance(dtype);
        EXPECT_TRUE(near(y.value(), doubles(matmul(wide, host_w.to(DType::kF64))), eps, 1e-30,
                         product_scale(used, host_w)));
        EXPECT_TRUE(near(w.grad(), doubles(matmul(wide, host_dy.to(DType::kF64), Transpose::kYes)), eps,
                         1e-30, product_scale(used, host_dy, Transpose::kYes)));
      }
}

// Sparse and dense dropout have the same mask and the same bits.
TEST_P(OpsFeatures, DropsWhatTheDenseFormDrops) {
  const Adjacency adj = small();
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16}) {
    const Tensor value = random_tensor({adj.num_edges()}, dtype, device(), 1);
    const Features sparse = sparse_features(adj, value);
    const Features dense(csr_to_dense(adj, value));
    for (const Tensor& scale : {Tensor(), positive(40, dtype, device())})
      for (const double p : {0.0, 0.3, 0.9}) {
        const Features a = dropout(sparse, p, kFeatureKey, scale), b = dropout(dense, p, kFeatureKey, scale);
        EXPECT_TRUE(same_bits(csr_to_dense(a.entries(), a.values()).to(DType::kF32).to(kCpu),
                              add(b.dense().value().to(DType::kF32).to(kCpu), Tensor::zeros({40, 30}))))
            << dtype << " " << p;  // adding 0 makes -0 of a dropped negative 0
      }
  }
}

TEST_P(OpsFeatures, EntriesAreSortedAndEachPlaceIsThereOnce) {
  const Adjacency adj(Csr{3, 4, Tensor::from(std::vector<std::int64_t>{0, 4, 4, 6}, device()),
                          Tensor::from(std::vector<std::int32_t>{3, 1, 3, 0, 2, 1}, device())});
  const Features x = sparse_features(adj, Tensor::from(std::vector<float>{1, 2, 0.5f, 4, 5, 6}, device()));
  EXPECT_EQ(x.entries().csr().col.to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 1, 3, 1, 2}));
  EXPECT_EQ(x.entries().csr().row_ptr.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 3, 3, 5}));
  EXPECT_EQ(doubles(x.values()), (std::vector<double>{4, 2, 1.5, 6, 5}));
  EXPECT_TRUE(x.is_sparse());
  EXPECT_EQ(x.shape(), (Shape{3, 4}));
}

TEST_P(OpsFeatures, Gradients) {
  const Adjacency adj = small();
  const Features x = sparse_features(adj, random_tensor({adj.num_edges()}, DType::kF64, device(), 1));
  const Tensor scale = positive(40, DType::kF64, device());
  EXPECT_TRUE(gradients_ok(
      [&](const std::vector<Variable>& in) { return matmul(dropout(x, 0.4, kFeatureKey, scale), in[0]); },
      {random_variable({30, 5}, device())}));
}

// Two ranks' rows of one matrix, 16 and 24: each draws what both draw.
TEST_P(OpsFeatures, RowsOfAllRanksAreWhatEachRankDraws) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16})
    for (const double p : {0.0, 0.4})
      for (const bool scaled : {false, true}) {
        const Tensor all = random_tensor({40, 7}, dtype, device(), 1);
        const Tensor scale = scaled ? positive(40, dtype, device()) : Tensor();
        const auto of_rank = [&](std::int64_t first, std::int64_t count) {
          RandomKey key = kFeatureKey;
          key.first_row = first;
          return dropout(Features(all, first, count), p, key,
                         scaled ? scale.slice(first, first + count) : Tensor());
        };
        const Features one = of_rank(0, 16), two = of_rank(16, 24);
        EXPECT_EQ(two.shape(), (Shape{24, 7}));
        for (const Features& rank : {one, two}) {
          ASSERT_TRUE(rank.has_rows_of_all_ranks());
          const Tensor got = rank.rows_of_all_ranks(scale);
          EXPECT_TRUE(same_bits(got.slice(0, 16), one.dense().value()));
          EXPECT_TRUE(same_bits(got.slice(16, 40), two.dense().value()));
        }
      }
  EXPECT_ERROR(Features(random_tensor({4, 2}, DType::kF32, device(), 1)).rows_of_all_ranks({}),
               "[features] the rank has its own rows of the features alone");
}

// A pending dropout is applied before the conversion.
TEST_P(OpsFeatures, PendingDropoutIsKeptInAnotherType) {
  const Adjacency adj = small();
  const Tensor value = random_tensor({adj.num_edges()}, DType::kF32, device(), 1);
  for (const Features& x : {sparse_features(adj, value), Features(csr_to_dense(adj, value))}) {
    const Features dropped = dropout(x, 0.4, kFeatureKey);
    const auto sums_of = [&](const Features& of) {
      return matmul(of, Variable(Tensor::full({30, 1}, 1, of.dtype(), device()))).value();
    };
    EXPECT_TRUE(near(sums_of(dropped.to(DType::kF64)), doubles(sums_of(dropped)), 1e-5, 1e-5));
  }
}

// Values made without recording: backward computes those of X^T.
TEST_P(OpsFeatures, DroppedWithoutRecordingStillHasAGradient) {
  const Adjacency adj = small();
  const Features x = sparse_features(adj, random_tensor({adj.num_edges()}, DType::kF64, device(), 1));
  const Features dropped = [&] {
    const NoGrad no_grad;
    return dropout(x, 0.4, kFeatureKey);
  }();
  const Variable a(random_tensor({30, 3}, DType::kF64, device(), 2), true), b(a.value(), true);
  const Tensor dy = random_tensor({40, 3}, DType::kF64, device(), 3);
  matmul(dropped, a).backward(dy);
  matmul(dropout(x, 0.4, kFeatureKey), b).backward(dy);
  EXPECT_TRUE(same_bits(a.grad(), b.grad()));
}

// dropout() of a dense constant stays pending, and reading it changes nothing.
TEST_P(OpsFeatures, DropoutOfADenseConstantIsPending) {
  const Tensor x = random_tensor({40, 30}, DType::kF32, device(), 1);
  const Features given(x), dropped = dropout(given, 0.4, kFeatureKey);
  EXPECT_FALSE(given.pending_dropout());
  ASSERT_TRUE(dropped.pending_dropout());
  EXPECT_EQ(dropped.pending_dropout()->p, 0.4);
  EXPECT_TRUE(dropped.input().value().shares_memory_with(x));
  const Tensor first = dropped.dense().value(), second = dropped.dense().value();
  EXPECT_FALSE(first.shares_memory_with(second));
  EXPECT_TRUE(same_bits(first, second));
  EXPECT_TRUE(same_bits(first, dropout(x, 0.4, kFeatureKey)));
  // No product applies dropout to so few rows: linear_input() computes it.
  const Variable w(random_tensor({30, 5}, DType::kF32, device(), 2));
  EXPECT_FALSE(linear_input(dropped, w).pending_dropout());
  EXPECT_TRUE(same_bits(linear_input(dropped, w).dense().value(), first));
}

TEST_P(OpsFeatures, RowsSumToOne) {
  const Adjacency adj = small();
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16}) {
    const Tensor value = random_tensor({adj.num_edges()}, dtype, device(), 1);
    const Poisoned poisoned;
    const Features x = normalize_rows(sparse_features(adj, value));
    const Tensor want = normalize_rows(Features(csr_to_dense(adj, value))).dense().value();
    EXPECT_TRUE(near(csr_to_dense(x.entries(), x.values()), doubles(want), 8 * epsilon(dtype))) << dtype;
    // The gradient includes the normalisation.
    const Variable a(random_tensor({30, 2}, dtype, device(), 2), true), b(a.value(), true);
    const Tensor dy = Tensor::full({40, 2}, 1, dtype, device());
    matmul(x, a).backward(dy);
    matmul(Features(want), b).backward(dy);
    EXPECT_TRUE(near(a.grad(), doubles(b.grad()), 64 * epsilon(dtype), 64 * epsilon(dtype))) << dtype;
  }
}

TEST_P(OpsFeatures, Errors) {
  const Adjacency adj = small();
  const Tensor value = random_tensor({adj.num_edges()}, DType::kF32, device(), 1);
  const Features x = sparse_features(adj, value);
  const auto zeros = [](const Shape& shape, DType dtype) { return Tensor::zeros(shape, dtype, device()); };
  EXPECT_ERROR(sparse_features(adj, zeros({3}, DType::kF32)),
               str("[sparse_features] value must be ", Shape{adj.num_edges()}, ", got [3]"));
  EXPECT_ERROR(x.dense(),
               "[features] a dense matrix is needed here, and these features are sparse: [40, 30]");
  EXPECT_ERROR(Features(csr_to_dense(adj, value)).entries(), "[features] entries() of dense features");
  EXPECT_ERROR(matmul(x, Variable(zeros({29, 4}, DType::kF32))),
               "[matmul] inner sizes must be equal, got [40, 30] x [29, 4]");
  EXPECT_ERROR(matmul(x, Variable(zeros({30, 4}, DType::kF64))),
               "[matmul] w must have the dtype of x, f32, got f64");
  EXPECT_ERROR(dropout(x, 1, kFeatureKey), "[dropout] p must be in [0, 1), got 1");
  EXPECT_ERROR(dropout(x, 0.5, kFeatureKey, zeros({39}, DType::kF32)),
               "[dropout] scale must be [40], got [39]");
  EXPECT_ERROR(matmul(Features(), Variable(zeros({30, 4}, DType::kF32))), "[matmul] x is undefined");
  EXPECT_ERROR(normalize_rows(Features(Variable(zeros({2, 2}, DType::kF32), true))),
               "[normalize_rows] x requires a gradient, and none is defined");
}

}  // namespace
}  // namespace rodeo::test
