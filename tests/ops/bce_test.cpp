#include "ops/bce.h"

#include "core/storage.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"

namespace rodeo::test {
namespace {

class OpsBce : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    set_poison_memory(true);
  }
  void TearDown() override { set_poison_memory(false); }
  static Tensor ids(const std::vector<std::int64_t>& values) { return Tensor::from(values, device()); }
  static std::vector<std::uint8_t> bits(std::int64_t n) {
    std::vector<std::uint8_t> out(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = random_word(5, 1, i) & 1;
    return out;
  }
};
RODEO_ON_ALL_DEVICES(OpsBce);

struct Sizes {
  std::int64_t nodes, classes, named;
};

TEST_P(OpsBce, EqualsItsFormula) {
  for (const auto& [nodes, c, named] : {Sizes{1, 1, 1}, {9, 3, 4}, {300, 121, 200}, {5000, 107, 9000}})
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16}) {
      const Tensor x = random_tensor({nodes, c}, dtype, device(), 3);
      const std::vector<double> xs = doubles(x);
      const std::vector<std::uint8_t> t = bits(nodes * c);
      std::vector<std::int64_t> index(static_cast<std::size_t>(named));
      for (std::int64_t i = 0; i < named; ++i) index[i] = i * 7 % nodes;
      double loss = 0, right = 0, predicted = 0, actual = 0;
      for (const std::int64_t i : index)
        for (std::int64_t at = i * c; at < (i + 1) * c; ++at) {
          loss += std::log1p(std::exp(xs[at])) - t[at] * xs[at];
          right += xs[at] > 0 && t[at], predicted += xs[at] > 0, actual += t[at];
        }
      const Tensor target = Tensor::from(t, {nodes, c}, device());
      loss /= static_cast<double>(named * c);
      EXPECT_TRUE(near(bce_with_logits(x, target, ids(index)), {loss}, epsilon(dtype) + 1e-12)) << dtype;
      const double f1 = right > 0 ? 2 * right / (predicted + actual) : 0;
      EXPECT_NEAR(micro_f1(x, target, ids(index)), f1, 1e-12);
      const Tensor again = bce_with_logits(x, target, ids(index));
      EXPECT_TRUE(same_bits(again, bce_with_logits(x, target, ids(index))));
    }
}

TEST_P(OpsBce, GradientsAlsoOfNodesNamedTwice) {
  const Tensor target = Tensor::from(bits(24), {6, 4}, device());
  for (const auto& index : {ids({0, 3, 5}), ids({5, 0, 0, 3, 0})})
    EXPECT_TRUE(gradients_ok([&](const auto& in) { return bce_with_logits(in[0], target, index); },
                             {random_variable({6, 4}, device())}));
  const Variable x = random_variable({6, 4}, device());
  bce_with_logits(x, target, ids({1, 2})).backward();
  const std::vector<double> dx = doubles(x.grad());
  for (int at = 0; at < 24; ++at) EXPECT_EQ(dx[at] == 0, at / 4 != 1 && at / 4 != 2) << at;
}

TEST_P(OpsBce, LargeLogitsDoNotOverflowAndNanShows) {
  const Tensor target = Tensor::from<std::uint8_t>({1, 0, 1, 0}, {1, 4}, device());
  const Variable x(Tensor::from<float>({1e4f, -1e4f, -1e4f, 1e4f}, {1, 4}, device()), true);
  const Variable loss = bce_with_logits(x, target, ids({0}));
  EXPECT_EQ(loss.value().item(), 5000);
  loss.backward();
  EXPECT_EQ(doubles(x.grad()), (std::vector<double>{0, 0, -0.25, 0.25}));
  const Tensor bad = Tensor::from<float>({NAN, -1, 1, 1}, {1, 4}, device());
  EXPECT_TRUE(std::isnan(bce_with_logits(bad, target, ids({0})).item()));
  EXPECT_EQ(micro_f1(bad, target, ids({0})), 0.5);  // one of two right, two predicted
  EXPECT_EQ(micro_f1(bad, target, ids({})), 0);
  const Tensor where_0 = Tensor::from<float>({1, NAN, 1, 1}, {1, 4}, device());
  EXPECT_TRUE(std::isnan(bce_with_logits(where_0, target, ids({0})).item()));
  const std::vector<double> metrics = doubles(label_metrics(x.value(), target, {ids({0}), ids({})}));
  EXPECT_EQ(metrics, (std::vector<double>{0.5, 5000, 0, 0}));
}

TEST_P(OpsBce, Errors) {
  const Tensor x = Tensor::zeros({4, 3}, DType::kF32, device());
  const Tensor target = Tensor::zeros({4, 3}, DType::kU8, device());
  EXPECT_ERROR(bce_with_logits(x, target, ids({})),
               "[bce_with_logits] index is empty: the mean over no node is undefined");
  EXPECT_ERROR(bce_with_logits(x, ids({0, 0, 0, 0}), ids({0})), "[bce_with_logits] target must be u8 [4, 3]");
  EXPECT_ERROR(micro_f1(x, target.reshape({3, 4}), ids({0})), "[micro_f1] target must be u8 [4, 3]");
  EXPECT_ERROR(micro_f1(x, target, x), "[micro_f1] index must be i64 [k]");
  EXPECT_ERROR(label_metrics(x, target, {x}), "[label_metrics] index must be i64 [k]");
}

TEST_P(OpsBce, ALabelIsPredictedAboveZero) {
  const Tensor target = Tensor::from<std::uint8_t>({1, 1, 1, 1}, {1, 4}, device());
  const auto f1 = [&](float a, float b) {
    return micro_f1(Tensor::from<float>({a, b, b, b}, {1, 4}, device()), target, ids({0}));
  };
  EXPECT_EQ(f1(1e-30f, -1e-30f), 2. / 5);  // one predicted and right, four labels
  EXPECT_EQ(f1(1e-30f, 0.f), 2. / 5);
  EXPECT_EQ(f1(0.f, 1e-3f), 6. / 7);
  const Tensor none = Tensor::zeros({1, 4}, DType::kU8, device());
  EXPECT_EQ(micro_f1(Tensor::full({1, 4}, -1, DType::kF32, device()), none, ids({0})), 0);  // not 0 / 0
}

}  // namespace
}  // namespace rodeo::test
