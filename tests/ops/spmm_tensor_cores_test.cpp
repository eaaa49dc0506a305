#include <cmath>

#include "core/cuda_graph.h"
#include "core/error.h"
#include "core/storage.h"
#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/spmm.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

/// The SpMM algorithms on tensor cores: TCA-SpMM and RoDe's plan with tensor-core sums.
class OpsSpmmTensorCores : public testing::TestWithParam<SpmmAlgorithm> {
 protected:
  const SpmmOptions options_{GetParam()};
  const std::string name_ = str(GetParam());
};

class OpsSpmmTensorCoresOnCpu : public OpsSpmmTensorCores {};

TEST_P(OpsSpmmTensorCoresOnCpu, Errors) {
  const Adjacency adj = graph_with_lengths({1, 2, 1}, 3);
  EXPECT_ERROR(spmm(adj, Tensor::zeros({3, 2}), options_),
               "[spmm] " + name_ + " runs on CUDA only, and the graph is on cpu: choose auto, csr or rode");
}

class OpsSpmmTensorCoresOnCuda : public OpsSpmmTensorCores {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device: " << cuda_absence_reason();
    set_poison_memory(true);
  }
  void TearDown() override { set_poison_memory(false); }

  void check_product(const Adjacency& adj, const Tensor& weight, const Tensor& x, const Sums& want,
                     const std::string& what) const {
    const auto run = [&] {
      return weight.defined() ? spmm(adj, weight, x, options_) : spmm(adj, x, options_);
    };
    const Tensor y = run();
    ASSERT_EQ(y.shape(), (Shape{adj.rows(), x.dim(1)})) << what;
    const std::vector<double> rounded = doubles(Tensor::from(want.y, y.shape()).to(x.dtype()));
    ASSERT_TRUE(near(y, rounded, 0, 0)) << what;
    ASSERT_TRUE(same_bits(y, run())) << what;
  }

  const Device device_ = cuda_device();
};

/// Small integers, so that every sum is exact until the output is rounded: a lost nonzero cannot hide in a
/// tolerance.
Tensor integers(const Shape& shape, DType dtype, std::uint64_t seed) {
  std::vector<double> values = doubles(random_tensor(shape, DType::kF64, kCpu, seed));
  for (double& value : values) value = std::round(value * 2.4);
  return Tensor::from(values, shape).to(dtype);
}

TEST_P(OpsSpmmTensorCoresOnCuda, AllCasesWidthsAndTypes) {
  for (const SparseCase& sparse_case : sparse_cases()) {
    const Adjacency host = sparse_case.make(), adj = host.to(device_);
    for (const std::int64_t n : widths())
      for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
        const Tensor x = integers({host.cols(), n}, dtype, 3),
                     weight = integers({host.num_edges()}, dtype, 4);
        const std::string what = str(sparse_case.name, " n=", n, " ", dtype);
        check_product(adj, {}, x.to(device_), spmm_reference(host, {}, x), what);
        check_product(adj, weight.to(device_), x.to(device_), spmm_reference(host, weight, x),
                      what + " weighted");
      }
  }
}

// All borders of the row classes, of steps, and of the segments of the scratch pad.
TEST_P(OpsSpmmTensorCoresOnCuda, AllRowLengths) {
  std::vector<std::int64_t> lengths{191, 192, 193, 255, 256, 257, 319,  320,  383,  384,  385,  447,  448,
                                    511, 512, 513, 767, 768, 769, 1023, 1024, 1025, 1279, 1280, 1281, 5000};
  for (std::int64_t length = 0; length <= 130; ++length) lengths.push_back(length);
  const Adjacency host = graph_with_lengths(lengths, 211), adj = host.to(device_);
  for (const std::int64_t n : {1, 8, 24, 40, 72, 136, 264, 520, 601})
    for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
      const Tensor x = integers({211, n}, dtype, 5), weight = integers({host.num_edges()}, dtype, 6);
      check_product(adj, weight.to(device_), x.to(device_), spmm_reference(host, weight, x),
                    str("n=", n, " ", dtype));
    }
}

// Random values: what is rounded is x and the weight to TF32, and the output to a 16-bit type.
TEST_P(OpsSpmmTensorCoresOnCuda, RoundsToNearest) {
  const Adjacency host = graph_with_lengths({1, 3, 8, 14, 30, 60, 100}, 50), adj = host.to(device_);
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
    const Tensor x = random_tensor({50, 24}, dtype, kCpu, 3),
                 weight = random_tensor({host.num_edges()}, dtype, kCpu, 4);
    const Sums want = spmm_reference(host, weight, x);
    const double tolerance = dtype == DType::kF32 ? 0x1p-10 : epsilon(dtype) / 2 + 0x1p-20;
    EXPECT_TRUE(
        near(spmm(adj, weight.to(device_), x.to(device_), options_), want.y, tolerance, 1e-7, want.scale))
        << dtype;
  }
}

TEST_P(OpsSpmmTensorCoresOnCuda, RunsInACudaGraphAfterOneRun) {
  const Adjacency host = graph_with_lengths({40, 3, 600, 0, 12, 25}, 50), adj = host.to(device_);
  const Tensor x = integers({50, 72}, DType::kF16, 3).to(device_);
  Tensor y;
  const auto work = [&] { y = spmm(adj, x, options_); };
  EXPECT_THROW(CudaGraph::capture(device_, work), Error) << "the plan is not made in a capture";
  work();
  const Tensor want = y;
  const CudaGraph graph = CudaGraph::capture(device_, work);
  graph.launch();
  EXPECT_TRUE(same_bits(y, want));
}

TEST_P(OpsSpmmTensorCoresOnCuda, SlicedOperandsAreNotAligned) {
  const Adjacency host = graph_with_lengths({40, 3, 600, 0, 12, 25}, 50), adj = host.to(device_);
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32})
    for (const std::int64_t n : {4, 8, 64}) {
      const Tensor whole = integers({50 * n + 1}, dtype, 1).to(device_),
                   weights = integers({host.num_edges() + 1}, dtype, 2).to(device_);
      const Tensor x = whole.slice(1, 1 + 50 * n).reshape({50, n}),
                   weight = weights.slice(1, 1 + host.num_edges());
      check_product(adj, weight, x, spmm_reference(host, weight, x), str("n=", n, " ", dtype));
    }
}

// Zeros that pad a chunk, a tile or an operand must meet no value that is not finite.
TEST_P(OpsSpmmTensorCoresOnCuda, InfinityAndNanReachTheirOwnOutputsOnly) {
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
        const std::vector<double> y =
            doubles(weighted ? spmm(adj, ones, x, options_) : spmm(adj, x, options_));
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

// Products that f16 rounds (40,401), and past its largest number (90,601), whose sums are exact.
TEST_P(OpsSpmmTensorCoresOnCuda, ProductsNeedNotFitTheirType) {
  for (const double factor : {201, 301})
    for (const std::int64_t length : {2, 6, 40, 256})
      for (const std::int64_t n : {16, 24, 64, 128}) {
        const Adjacency host = graph_with_lengths({length, length}, 2 * length), adj = host.to(device_);
        const Tensor x = Tensor::full({2 * length, n}, factor, DType::kF16, kCpu);
        std::vector<double> weights(static_cast<std::size_t>(2 * length));
        for (std::size_t e = 0; e < weights.size(); ++e) weights[e] = e % 2 == 0 ? factor : 1 - factor;
        const Tensor weight = Tensor::from(weights, {2 * length}).to(DType::kF16);
        check_product(adj, weight.to(device_), x.to(device_), spmm_reference(host, weight, x),
                      str("factor ", factor, " length ", length, " n=", n));
      }
}

TEST_P(OpsSpmmTensorCoresOnCuda, GradientIsTheTransposedProduct) {
  const Adjacency host = graph_with_lengths({0, 3, 40, 1, 0, 600, 17}, 90), adj = host.to(device_);
  const Variable x(random_tensor({90, 24}, DType::kF32, device_), /*requires_grad=*/true);
  const Variable y = spmm(adj, x, options_);
  const Tensor dy = random_tensor({host.rows(), 24}, DType::kF32, device_, 2);
  y.backward(dy);
  const Adjacency transposed = transpose_pattern(host);
  const Sums want = spmm_reference(transposed, {}, dy);
  EXPECT_TRUE(near(x.grad(), want.y, 0x1p-10, 1e-7, want.scale));
}

TEST_P(OpsSpmmTensorCoresOnCuda, HeadsAreProductsOfTheirOwn) {
  const Adjacency adj = graph_with_lengths({0, 3, 40, 1, 0, 600, 17}, 90).to(device_);
  for (const std::int64_t heads : {1, 3}) {
    const std::int64_t n = 5;
    const Tensor weight = random_tensor({adj.num_edges(), heads}, DType::kF32, device_, 3),
                 x = random_tensor({adj.cols(), heads, n}, DType::kF32, device_, 4);
    const Variable w(weight, /*requires_grad=*/true), v(x, /*requires_grad=*/true);
    const Variable y = spmm(adj, w, v, options_);
    ASSERT_EQ(y.shape(), (Shape{adj.rows(), heads, n}));
    const Tensor dy = random_tensor(y.shape(), DType::kF32, device_, 5);
    y.backward(dy);
    const auto columns_of = [&](const Tensor& all, std::int64_t h, std::int64_t width) {
      return columns(all.reshape({all.dim(0), heads * width}), h * width, (h + 1) * width);
    };
    for (std::int64_t h = 0; h < heads; ++h) {
      const Variable one(columns_of(weight, h, 1).reshape({adj.num_edges()})),
          own(columns_of(x, h, n), /*requires_grad=*/true);
      const Variable expected = spmm(adj, one, own, options_);
      expected.backward(columns_of(dy, h, n));
      EXPECT_TRUE(same_bits(columns_of(y.value(), h, n), expected.value())) << heads << " " << h;
      EXPECT_TRUE(same_bits(columns_of(v.grad(), h, n), own.grad())) << heads << " " << h;
    }
  }
}

TEST_P(OpsSpmmTensorCoresOnCuda, NoColumnsAndErrors) {
  const Adjacency adj = graph_with_lengths({3, 0, 2}, 5).to(device_);
  EXPECT_EQ(spmm(adj, Tensor::empty({5, 0}, DType::kF16, device_), options_).shape(), (Shape{3, 0}));
  EXPECT_ERROR(spmm(adj, Tensor::zeros({5, 2}, DType::kF64, device_), options_),
               "[spmm] " + name_ + " takes f32 (as TF32), bf16 and f16, got f64");
  EXPECT_ERROR(spmm(adj, Tensor::empty({5, 2, 4}, DType::kF16, device_), options_),
               "[spmm] x must be a matrix [m, n], got [5, 2, 4]");
}

#define RODEO_ON_TENSOR_CORES(Suite)                                                              \
  INSTANTIATE_TEST_SUITE_P(, Suite, testing::Values(SpmmAlgorithm::kTca, SpmmAlgorithm::kRodeTc), \
                           [](const testing::TestParamInfo<SpmmAlgorithm>& info) {                \
                             return info.param == SpmmAlgorithm::kTca ? "tca" : "rode_tc";        \
                           })
RODEO_ON_TENSOR_CORES(OpsSpmmTensorCoresOnCpu);
RODEO_ON_TENSOR_CORES(OpsSpmmTensorCoresOnCuda);

}  // namespace
}  // namespace rodeo::test
