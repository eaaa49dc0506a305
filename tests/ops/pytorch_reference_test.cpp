// Losses and other operators beside PyTorch's: results and gradients, from scripts/pyg_reference.py.
#include <filesystem>
#include <functional>

#include "ops/bce.h"
#include "ops/dense.h"
#include "ops/gelu.h"
#include "ops/loss.h"
#include "ops/norm.h"
#include "ops/pairs.h"
#include "ops/regression_loss.h"
#include "ops/soft_cross_entropy.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/pyg_reference.h"

namespace rodeo::test {
namespace {

class OpsPytorchReference : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (IsSkipped()) return;
    if (!std::filesystem::exists(PygReference::path()))
      GTEST_SKIP() << "no tests/data/pyg_reference.txt: scripts/pyg_reference.py makes it";
    reference_ = std::make_unique<PygReference>(PygReference::path());
    x_ = reference_->at("graph", "x");
    other_ = reference_->at("graph", "other").to(device());
    label_ = ids("label"), chosen_ = ids("chosen");
  }
  Tensor array(const char* name) const { return reference_->at("losses", name).to(device()); }
  Tensor ids(const char* name) const { return array(name).to(DType::kI64); }

  void expect_same(const char* name,
                   const std::function<Variable(const Variable&)>& f) const {  // soft targets are f32
    for (const auto& [dtype, tolerance] : {std::pair{DType::kF64, 1e-7}, {DType::kF32, 1e-5}}) {
      const Variable x(x_.to(dtype).to(device()), true);
      const Variable y = f(x);
      if (y.shape().rank() == 0)
        y.backward();
      else
        y.backward(array("cotangents").slice(0, y.value().numel()).to(dtype).reshape(y.shape()));
      EXPECT_TRUE(near(y.value(), doubles(reference_->at(name, "y")), tolerance, tolerance)) << name;
      EXPECT_TRUE(near(x.grad(), doubles(reference_->at(name, "grad.x")), tolerance, tolerance)) << name;
    }
  }

  std::unique_ptr<PygReference> reference_;
  Tensor x_, other_, label_, chosen_;
};
RODEO_ON_ALL_DEVICES(OpsPytorchReference);

TEST_P(OpsPytorchReference, Losses) {
  expect_same("cross_entropy", [&](const Variable& x) { return cross_entropy(x, label_, chosen_); });
  const SoftTargetOptions soft{.class_weight = doubles(array("class_weight")), .label_smoothing = 0.1};
  expect_same("soft_cross_entropy", [&](const Variable& x) {
    return soft_cross_entropy(x, soft_targets(label_, chosen_, 4, soft).to(x.dtype()));
  });
  const std::vector<double> values = doubles(other_);
  std::vector<std::uint8_t> positive;
  for (const double value : values) positive.push_back(value > 0 ? 1 : 0);
  const Tensor bits = Tensor::from(positive, other_.shape()).to(device());
  expect_same("bce", [&](const Variable& x) { return bce_with_logits(x, bits, chosen_); });
  expect_same("mse", [&](const Variable& x) { return mse_loss(x, other_.to(x.dtype()), chosen_); });
  expect_same("l1", [&](const Variable& x) { return l1_loss(x, other_.to(x.dtype()), chosen_); });
}

TEST_P(OpsPytorchReference, ActivationNormAndPairs) {
  expect_same("gelu", [](const Variable& x) { return gelu(x); });
  expect_same("l2_normalize", [](const Variable& x) { return l2_normalize(x); });
  const Tensor pairs = ids("pairs"), src = pairs.slice(0, 1).reshape({6}),
               dst = pairs.slice(1, 2).reshape({6});
  expect_same("pair_dot", [&](const Variable& x) { return pair_dot(x, x, src, dst); });
  expect_same("pair_mul", [&](const Variable& x) { return pair_mul(x, x, src, dst); });
}

}  // namespace
}  // namespace rodeo::test
