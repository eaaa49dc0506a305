#include "core/storage.h"
#include "ops/convert.h"
#include "ops/spmm.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

constexpr SpmmOptions kRodeTc{SpmmAlgorithm::kRodeTc};

TEST(OpsSpmmRodeTcOnCpu, Errors) {
  const Adjacency adj = graph_with_lengths({1, 2, 1}, 3);
  EXPECT_ERROR(spmm(adj, Tensor::zeros({3, 2}), kRodeTc),
               "[spmm] rode-tc runs on CUDA only, and the graph is on cpu: choose auto, csr or rode");
}

class OpsSpmmRodeTc : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device: " << cuda_absence_reason();
    set_poison_memory(true);
  }
  void TearDown() override { set_poison_memory(false); }
  const Device device_ = cuda_device();
};

// Of a 16-bit type only the output is rounded. TF32 rounds x and the weight to 2^-11 each.
double tolerance(DType dtype) {
  return dtype == DType::kF32 ? 0x1p-10 : epsilon(dtype);
}

void check_product(const Adjacency& adj, const Tensor& weight, const Tensor& x, const Sums& want,
                   const std::string& what) {
  const auto run = [&] { return weight.defined() ? spmm(adj, weight, x, kRodeTc) : spmm(adj, x, kRodeTc); };
  const Tensor y = run();
  ASSERT_EQ(y.shape(), (Shape{adj.rows(), x.dim(1)})) << what;
  ASSERT_TRUE(near(y, want.y, tolerance(x.dtype()), 1e-7, want.scale)) << what;
  ASSERT_TRUE(same_bits(y, run())) << what;
}

TEST_F(OpsSpmmRodeTc, AllCasesWidthsAndTypes) {
  for (const SparseCase& sparse_case : sparse_cases()) {
    const Adjacency host = sparse_case.make(), adj = host.to(device_);
    for (const std::int64_t n : widths())
      for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
        const Tensor x = random_tensor({host.cols(), n}, dtype, kCpu, 3),
                     weight = random_tensor({host.num_edges()}, dtype, kCpu, 4);
        const std::string what = str(sparse_case.name, " n=", n, " ", dtype);
        check_product(adj, {}, x.to(device_), spmm_reference(host, {}, x), what);
        check_product(adj, weight.to(device_), x.to(device_), spmm_reference(host, weight, x),
                      what + " weighted");
      }
  }
}

// Small integers are exact in every type, so each output must be: a wrong nonzero or column cannot hide in
// the tolerance.
TEST_F(OpsSpmmRodeTc, ExactOnSmallIntegers) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t length = 0; length <= 130; ++length) lengths.push_back(length);
  const Adjacency host = graph_with_lengths(lengths, 211), adj = host.to(device_);
  for (const std::int64_t n : {1, 8, 24, 40, 72, 136, 264, 520, 601}) {
    std::vector<float> values(static_cast<std::size_t>(211 * n)),
        weights(static_cast<std::size_t>(host.num_edges()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 5) - 2;
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 2);
    for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
      const Tensor x = Tensor::from(values, {211, n}).to(dtype), weight = Tensor::from(weights).to(dtype);
      const Sums want = spmm_reference(host, weight, x);  // |sum| <= 130, below 2^8
      ASSERT_TRUE(near(spmm(adj, weight.to(device_), x.to(device_), kRodeTc), want.y, 0))
          << n << " " << dtype;
    }
  }
}

TEST_F(OpsSpmmRodeTc, SlicedOperandsAreNotAligned) {
  const Adjacency host = graph_with_lengths({40, 3, 600, 0, 12, 25}, 50), adj = host.to(device_);
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32})
    for (const std::int64_t n : {4, 8, 64}) {
      const Tensor whole = random_tensor({50 * n + 1}, dtype, device_),
                   weights = random_tensor({host.num_edges() + 1}, dtype, device_, 2);
      const Tensor x = whole.slice(1, 1 + 50 * n).reshape({50, n}),
                   weight = weights.slice(1, 1 + host.num_edges());
      check_product(adj, weight, x, spmm_reference(host, weight, x), str("n=", n, " ", dtype));
    }
}

// The zeros of the right operand meet other columns of the same row: these must not make NaN of it.
TEST_F(OpsSpmmRodeTc, InfinityAndNanReachTheirOwnOutputsOnly) {
  for (const std::int64_t length : {1, 8, 16, 30, 60, 70, 600}) {
    // Row 0 reads rows 0 .. length - 1 of X, row 1 the row after, of which two columns in four are not
    // finite, row 2 all of them.
    constexpr std::size_t kColumns = 88;
    const float special[] = {NAN, INFINITY, 0, 0};
    std::vector<std::int32_t> col;
    for (std::int64_t e = 0; e < 2 * length + 2; ++e)
      col.push_back(static_cast<std::int32_t>(e % (length + 1)));
    const Adjacency adj =
        Adjacency({3, length + 1,
                   Tensor::from(std::vector<std::int64_t>{0, length, length + 1, 2 * length + 2}),
                   Tensor::from(col)})
            .to(device_);
    std::vector<float> values(static_cast<std::size_t>(length + 1) * kColumns, 1);
    for (std::size_t j = 0; j < kColumns; ++j) values[values.size() - kColumns + j] = special[j % 4];
    for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32})
      for (const bool weighted : {false, true}) {
        const Tensor
            x = Tensor::from(values, {length + 1, static_cast<std::int64_t>(kColumns)}).to(dtype).to(device_),
            ones = Tensor::full({2 * length + 2}, 1, dtype, device_);
        const std::vector<double> y = doubles(weighted ? spmm(adj, ones, x, kRodeTc) : spmm(adj, x, kRodeTc));
        for (std::size_t j = 0; j < kColumns; ++j) {
          EXPECT_EQ(y[j], static_cast<double>(length)) << "length " << length;
          for (const std::int64_t row : {1, 2}) {
            const double others = row == 1 ? 0 : static_cast<double>(length);
            const double want = special[j % 4] + others,
                         got = y[static_cast<std::size_t>(row) * kColumns + j];
            EXPECT_TRUE(std::isnan(want) ? std::isnan(got) : got == want)
                << "row " << row << " column " << j << ": " << got << ", length " << length << " " << dtype;
          }
        }
      }
  }
}

TEST_F(OpsSpmmRodeTc, GradientIsTheTransposedProduct) {
  const Adjacency host = graph_with_lengths({0, 3, 40, 1, 0, 600, 17}, 90), adj = host.to(device_);
  const Variable x(random_tensor({90, 24}, DType::kF32, device_), /*requires_grad=*/true);
  const Variable y = spmm(adj, x, kRodeTc);
  const Tensor dy = random_tensor({host.rows(), 24}, DType::kF32, device_, 2);
  y.backward(dy);
  const Adjacency transposed = transpose_pattern(host);
  const Sums want = spmm_reference(transposed, {}, dy);
  EXPECT_TRUE(near(x.grad(), want.y, tolerance(DType::kF32), 1e-7, want.scale));
}

TEST_F(OpsSpmmRodeTc, NoColumnsAndErrors) {
  const Adjacency adj = graph_with_lengths({3, 0, 2}, 5).to(device_);
  EXPECT_EQ(spmm(adj, Tensor::empty({5, 0}, DType::kF16, device_), kRodeTc).shape(), (Shape{3, 0}));
  EXPECT_ERROR(spmm(adj, Tensor::zeros({5, 2}, DType::kF64, device_), kRodeTc),
               "[spmm] rode-tc takes f32 (as TF32), bf16 and f16, got f64");
}

}  // namespace
}  // namespace rodeo::test
