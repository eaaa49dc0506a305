#include "core/outputs.h"

#include "core/gradcheck.h"
#include "ops/dense.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

class CoreOutputs : public OnDevice {};
RODEO_ON_ALL_DEVICES(CoreOutputs);

/// x w_0 and x w_1, recorded as one op. *calls counts calls of its rule.
std::vector<Variable> both(const Variable& x, const Variable& w0, const Variable& w1, int* calls = nullptr) {
  const Tensor y0 = matmul(x.value(), w0.value()), y1 = matmul(x.value(), w1.value());
  return record_outputs("both", {y0, y1}, {x, w0, w1}, [=](const std::vector<Tensor>& dy) {
    if (calls) ++*calls;
    const auto of = [&](int i, const Shape& shape) {
      return dy[i].defined() ? dy[i] : Tensor::zeros(shape, x.dtype(), x.device());
    };
    const Tensor d0 = of(0, y0.shape()), d1 = of(1, y1.shape());
    constexpr Transpose kNo = Transpose::kNo, kYes = Transpose::kYes;
    return std::vector{add(matmul(d0, w0.value(), kNo, kYes), matmul(d1, w1.value(), kNo, kYes)),
                       matmul(x.value(), d0, kYes, kNo), matmul(x.value(), d1, kYes, kNo)};
  });
}

TEST_P(CoreOutputs, Gradients) {
  EXPECT_TRUE(gradients_ok(
      [](const std::vector<Variable>& in) {
        const std::vector<Variable> y = both(in[0], in[1], in[2]);
        return add(relu(y[1]), add(y[0], y[1]));  // a result that is read twice
      },
      {random_variable({5, 3}, device()), random_variable({3, 4}, device()),
       random_variable({3, 4}, device())}));
}

TEST_P(CoreOutputs, ARuleRunsOnceWhateverIsRead) {
  const Variable x = random_variable({5, 3}, device()), w0 = random_variable({3, 4}, device()),
                 w1 = random_variable({3, 4}, device());
  int calls = 0;
  const std::vector<Variable> y = both(x, w0, w1, &calls);
  const Tensor seed = Tensor::full({5, 4}, 1, DType::kF64, device());
  add(y[0], y[1]).backward(seed);
  EXPECT_EQ(calls, 1);
  Variable again = both(x, w0, w1, &calls)[1];  // the other result is dropped
  again.backward(seed);
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(near(w1.grad(),
                   doubles(add(matmul(x.value(), seed, Transpose::kYes, Transpose::kNo),
                               matmul(x.value(), seed, Transpose::kYes, Transpose::kNo))),
                   1e-12, 1e-12));
  EXPECT_ERROR(again.backward(seed), "[autograd] the graph behind 'both' was freed by an earlier backward()");
}

TEST_P(CoreOutputs, RecordsNothingForConstants) {
  const Variable x(Tensor::full({2, 2}, 1, DType::kF64, device()));
  for (const Variable& y : both(x, x, x)) EXPECT_FALSE(y.requires_grad());
  const Variable learned(x.value(), true);
  {
    const NoGrad guard;
    for (const Variable& y : both(learned, x, x)) EXPECT_FALSE(y.requires_grad());
  }
  EXPECT_ERROR(gradients({both(learned, x, x)[0]}, {learned}, {x}),
               "[autograd] 'both' has no second derivative: its gradient rule takes Tensors only. backward() "
               "gives the first; docs/autograd.md lists the ops that have both");
  EXPECT_ERROR(record_outputs("both", {}, {}, nullptr), "[both] an op must have a result");
}

}  // namespace
}  // namespace rodeo::test
