// What is kept of each kernel that ran: its op, step and bytes.
#include "core/kernel_timer.h"

#include "core/memory_stats.h"
#include "core/variable.h"
#include "ops/dense.h"
#include "tests/support/devices.h"

namespace rodeo::test {
namespace {

class CoreKernelTimer : public OnDevice {};
RODEO_ON_ALL_DEVICES(CoreKernelTimer);

TEST_P(CoreKernelTimer, EachOperandIsCountedOnce) {
  const Tensor a = Tensor::full({100}, 1, DType::kF32, device()),
               b = Tensor::full({100}, 2, DType::kF32, device());
  KernelTimer timer(device(), 2);
  EXPECT_TRUE(timer.begin_step(7));
  Tensor sum, twice;
  {
    const ScopedKernelObserver observe(timer);
    sum = add(a, b), twice = add(a, a);
  }
  add(a, b);  // nobody looks
  const std::vector<KernelSpan>& spans = timer.spans();
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].bytes, 3 * 400) << "two terms and the sum";
  EXPECT_EQ(spans[1].bytes, 2 * 400);
  for (const KernelSpan& span : spans) {
    EXPECT_EQ(std::string_view(span.op), "add");
    EXPECT_EQ(span.gradient_of, "");
    EXPECT_EQ(span.step, 7);
    EXPECT_GE(span.ms, 0);
    EXPECT_GE(span.memory, 3 * 400);
  }
  EXPECT_GE(spans[1].begin_ms, spans[0].begin_ms);
}

TEST_P(CoreKernelTimer, OperandsApartInTheListAreCountedOnce) {
  const Tensor a = Tensor::full({100}, 1, DType::kF32, device()),
               b = Tensor::full({50}, 2, DType::kF32, device());
  KernelTimer timer(device(), 1);
  timer.begin_step(1);
  const KernelCallInfo call{"of_three", KernelCategory::kOther, device(), "", {a, b, a}};
  timer.before(call);
  timer.after(call);
  EXPECT_EQ(timer.spans().at(0).bytes, 600);
}

TEST_P(CoreKernelTimer, KernelsOfAGradientNameItsOp) {
  const Variable x(Tensor::full({4, 3}, 1, DType::kF32, device()), true),
      w(Tensor::full({3, 2}, 1, DType::kF32, device()), true);
  KernelTimer timer(device(), 1);
  timer.begin_step(1);
  {
    const ScopedKernelObserver observe(timer);
    matmul(x, w).backward(Tensor::full({4, 2}, 1, DType::kF32, device()));
  }
  const std::vector<KernelSpan>& spans = timer.spans();
  ASSERT_GE(spans.size(), 3u);
  EXPECT_EQ(spans.front().gradient_of, "");
  std::size_t of_gradient = 0;
  for (const KernelSpan& span : spans) of_gradient += span.gradient_of == "matmul";
  EXPECT_GE(of_gradient, 2u) << "of both factors";
}

TEST_P(CoreKernelTimer, TakesAsManyStepsAsItWasMadeFor) {
  KernelTimer timer(device(), 2);
  EXPECT_EQ(timer.steps(), 0);
  EXPECT_TRUE(timer.begin_step(1));
  EXPECT_TRUE(timer.begin_step(2));
  EXPECT_EQ(timer.steps(), 2);
  EXPECT_FALSE(timer.begin_step(3));
  EXPECT_EQ(timer.steps(), 2);
}

}  // namespace
}  // namespace rodeo::test
