#include "ops/sage_concat.h"

#include "core/storage.h"
#include "ops/combine.h"
#include "ops/spmm.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsSageConcat : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    set_poison_memory(true);
  }
  void TearDown() override { set_poison_memory(false); }
};
RODEO_ON_ALL_DEVICES(OpsSageConcat);

/// A block: 7 destinations are the first of 30 sources.
Adjacency block() {
  return graph_with_lengths({0, 3, 1, 40, 8, 0, 17}, 30);
}

// The halves are spmm() and the rows of x, to the bit.
TEST_P(OpsSageConcat, IsSpmmBesideTheRowsOfX) {
  const Adjacency adj = block().to(device());
  for (const Reduce reduce : {Reduce::kSum, Reduce::kMean, Reduce::kMax})
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16})
      for (const std::int64_t n : {1, 3, 4, 7, 8, 16, 31, 33, 100}) {
        const Tensor x = random_tensor({30, n}, dtype, device());
        const SpmmOptions options{
            .algorithm = reduce == Reduce::kMax ? SpmmAlgorithm::kAuto : SpmmAlgorithm::kCsr,
            .reduce = reduce};
        const Tensor y = sage_concat(adj, Variable(x), options).value();
        ASSERT_EQ(y.shape(), (Shape{7, 2 * n}));
        const std::string what = str(reduce, " ", dtype, " n=", n);
        EXPECT_TRUE(near(columns(y, 0, n), doubles(spmm(adj, x, options)), epsilon(dtype), 1e-12)) << what;
        EXPECT_TRUE(same_bits(columns(y, n, 2 * n), x.slice(0, 7))) << what;
      }
}

TEST_P(OpsSageConcat, Gradients) {
  const Adjacency adj = block().to(device());
  for (const Reduce reduce : {Reduce::kSum, Reduce::kMean, Reduce::kMin})
    EXPECT_TRUE(gradients_ok(
        [&](const std::vector<Variable>& in) { return sage_concat(adj, in[0], {.reduce = reduce}); },
        {random_variable({30, 3}, device())}))
        << reduce;
}

// In f32 and 16-bit types the gradient is that of the composition.
TEST_P(OpsSageConcat, GradientIsThatOfTheComposition) {
  const Adjacency adj = block().to(device());
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    for (const std::int64_t n : {3, 8, 40}) {
      const SpmmOptions options{.algorithm = SpmmAlgorithm::kCsr, .reduce = Reduce::kMean};
      const Tensor dy = random_tensor({7, 2 * n}, dtype, device(), 2);
      const Variable a(random_tensor({30, n}, dtype, device()), true), b(a.value(), true);
      sage_concat(adj, a, options).backward(dy);
      concat_columns(std::vector{spmm(adj, b, options), rows(b, 0, 7)}).backward(dy);
      EXPECT_TRUE(near(a.grad(), doubles(b.grad()), 2 * epsilon(dtype), epsilon(dtype))) << dtype << " " << n;
    }
}

// Rows that are not gathered give the bits of rows that are.
TEST_P(OpsSageConcat, PendingRowsAreTheGatheredOnes) {
  const Adjacency adj = block().to(device());
  std::vector<std::int64_t> index;
  for (std::int64_t i = 0; i < 30; ++i) index.push_back(i * 17 % 90);
  const Tensor at = Tensor::from(index, device());
  for (const Reduce reduce : {Reduce::kSum, Reduce::kMean, Reduce::kMin})
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16})
      for (const std::int64_t n : {3, 4, 8, 100}) {
        const Tensor x = random_tensor({90, n}, dtype, device());
        const SpmmOptions options{
            .algorithm = reduce == Reduce::kMin ? SpmmAlgorithm::kAuto : SpmmAlgorithm::kCsr,
            .reduce = reduce};
        const Features rows(PendingRows{x, at});
        ASSERT_EQ(rows.shape(), (Shape{30, n}));
        EXPECT_TRUE(same_bits(sage_concat(adj, *rows.pending_rows(), options).value(),
                              sage_concat(adj, rows.dense(), options).value()))
            << reduce << " " << dtype << " " << n;
      }
}

TEST_P(OpsSageConcat, AnIndexOutOfRangeIsNamed) {
  const Adjacency adj = block().to(device());
  const Tensor x = Tensor::zeros({20, 4}, DType::kF32, device());
  std::vector<std::int64_t> index(30, 1);
  index[29] = 20;
  const PendingRows rows{x, Tensor::from(index, device())};
  const auto run = [&] { return sage_concat(adj, rows, {SpmmAlgorithm::kCsr}).value().to(kCpu); };
  EXPECT_EQ(error_of([&] { static_cast<void>(run()); }), "[sage_concat] index[29] = 20 is outside [0, 20)");
}

TEST_P(OpsSageConcat, EmptyShapesAndErrors) {
  const Adjacency adj = block().to(device());
  EXPECT_EQ(sage_concat(adj, Variable(Tensor::zeros({30, 0}, DType::kF32, device()))).shape(), (Shape{7, 0}));
  EXPECT_ERROR(sage_concat(graph_with_lengths({1, 1, 1}, 2).to(device()),
                           Variable(Tensor::zeros({2, 4}, DType::kF32, device()))),
               "[sage_concat] adj must be [m, nodes] with m <= nodes: the first nodes are the destinations");
  EXPECT_ERROR(sage_concat(adj, Variable(Tensor::zeros({31, 4}, DType::kF32, device()))),
               "[spmm] x must be [30, n], got [31, 4]");
}

}  // namespace
}  // namespace rodeo::test
