#include "ops/grad_clip.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/cuda_graph.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/sums.h"

namespace rodeo {
namespace {

using test::doubles;
using test::random_tensor;

class OpsGradClip : public test::OnDevice {};
RODEO_ON_ALL_DEVICES(OpsGradClip);

std::vector<Tensor> some_tensors(DType dtype, Device device) {
  std::vector<Tensor> xs;
  std::uint64_t seed = 1;
  for (const Shape& shape : {Shape{7}, Shape{1433, 16}, Shape{0, 5}, Shape{}, Shape{300, 1000}, Shape{1024}})
    xs.push_back(random_tensor(shape, dtype, device, seed++));
  for (int i = 0; i < 40; ++i) xs.push_back(random_tensor({i + 1}, dtype, device, seed++));
  return xs;
}

double squares(const std::vector<Tensor>& xs) {
  long double sum = 0;  // 300,000 terms in a row lose three digits
  for (const Tensor& x : xs)
    for (const long double value : doubles(x)) sum += value * value;
  return static_cast<double>(sum);
}

TEST_P(OpsGradClip, SumsTheSquaresOfAllTensors) {
  const test::Poisoned poisoned;
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    const std::vector<Tensor> xs = some_tensors(dtype, device());
    const Tensor sum = sum_squares(xs);
    EXPECT_EQ(sum.dtype(), DType::kF64);
    EXPECT_NEAR(sum.item(), squares(xs), 1e-12 * squares(xs)) << dtype;
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(test::same_bits(sum_squares(xs), sum));
  }
  EXPECT_EQ(sum_squares({Tensor::empty({0, 3}, DType::kF32, device())}).item(), 0);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    EXPECT_FALSE(std::isfinite(sum_squares({Tensor::full({1000}, 3e38, DType::kF32, device()),
                                            Tensor::full({5}, bad, DType::kF32, device())})
                                   .item()));
  // Squares of what f32 holds are no reason for an alarm.
  EXPECT_TRUE(std::isfinite(sum_squares({Tensor::full({1000}, 3e38, DType::kF32, device())}).item()));
}

// torch.nn.utils.clip_grad_norm_: the factor is max_norm / (norm + 1e-6), and 1 at most.
TEST_P(OpsGradClip, ClipsByTheNormOfAllTogether) {
  const test::Poisoned poisoned;
  for (const DType dtype : {DType::kF64, DType::kF32}) {
    const std::vector<Tensor> xs = some_tensors(dtype, device());
    const double norm = std::sqrt(squares(xs));
    for (const double max_norm : {0.25, norm / 2, norm * 2}) {
      const double factor = std::min(1.0, max_norm / (norm + 1e-6));
      const std::vector<Tensor> ys = clip_norm(xs, max_norm);
      ASSERT_EQ(ys.size(), xs.size());
      for (std::size_t i = 0; i < xs.size(); ++i) {
        std::vector<double> want = doubles(xs[i]);
        for (double& value : want) value *= factor;
        EXPECT_TRUE(test::near(ys[i], want, dtype == DType::kF64 ? 1e-13 : 2 * test::epsilon(dtype)));
        if (factor == 1) {
          EXPECT_TRUE(test::same_bits(ys[i], xs[i]));
        }
      }
      EXPECT_LE(std::sqrt(squares(ys)),
                max_norm * (1 + (dtype == DType::kF64 ? 1e-13 : test::epsilon(dtype))));
    }
  }
  // 3 and 4 have the norm 5.
  const std::vector<Tensor> ys = clip_norm(
      {Tensor::full({1}, 3, DType::kF64, device()), Tensor::full({1}, 4, DType::kF64, device())}, 1);
  EXPECT_NEAR(ys[0].item(), 3 / (5 + 1e-6), 1e-15);
  EXPECT_NEAR(ys[1].item(), 4 / (5 + 1e-6), 1e-15);
}

TEST_P(OpsGradClip, ANanSpoilsAll) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Tensor> ys = clip_norm(
      {Tensor::full({3}, 1, DType::kF32, device()), Tensor::full({1}, nan, DType::kF32, device())}, 1);
  for (const double value : doubles(ys[0])) EXPECT_TRUE(std::isnan(value));
}

TEST_P(OpsGradClip, CanBeCaptured) {
  if (!device().is_cuda()) GTEST_SKIP() << "only CUDA has graphs";
  const std::vector<Tensor> xs = some_tensors(DType::kF32, device());
  const std::vector<Tensor> want = clip_norm(xs, 0.5);
  std::vector<Tensor> got;
  const CudaGraph graph = CudaGraph::capture(device(), [&] { got = clip_norm(xs, 0.5); });
  graph.launch();
  for (std::size_t i = 0; i < xs.size(); ++i) EXPECT_TRUE(test::same_bits(got[i], want[i]));
}

TEST_P(OpsGradClip, RejectsWhatHasNoNorm) {
  const Tensor x = Tensor::zeros({3}, DType::kF32, device()), ids = Tensor::zeros({3}, DType::kI64, device());
  EXPECT_ERROR(sum_squares({}), "[sum_squares] needs at least one tensor");
  EXPECT_ERROR(sum_squares({x, ids}), "[sum_squares] all tensors must be floating-point");
  EXPECT_ERROR(clip_norm({x}, 0), "[clip_norm] max_norm must be above 0, got 0");
  EXPECT_ERROR(clip_norm({x.to(DType::kF16)}, 1), "[clip_norm] tensors must be f32 or f64, got f16");
}

}  // namespace
}  // namespace rodeo
