#include "layers/graph_pool.h"

#include "tests/support/devices.h"
#include "tests/support/layers.h"

namespace rodeo::test {
namespace {

class LayersGraphPool : public OnDevice {
 protected:
  static Tensor offsets() { return Tensor::from<std::int64_t>({0, 3, 3, 4, 9}, device()); }
};
RODEO_ON_ALL_DEVICES(LayersGraphPool);

constexpr PoolKind kAll[] = {PoolKind::kSum, PoolKind::kMean, PoolKind::kMax, PoolKind::kAttention};

TEST_P(LayersGraphPool, EqualTheirFormulas) {
  constexpr int kWidth = 3;
  const std::vector<std::int64_t> ptr{0, 3, 3, 4, 9};
  const Variable x = random_variable({9, kWidth}, device());
  const std::vector<double> xs = doubles(x.value());
  for (const PoolKind kind : kAll) {
    Random random(3);
    const GraphPool pool(kind, kWidth, random, device(), DType::kF64);
    std::vector<double> w, b, want;
    if (kind == PoolKind::kAttention) {
      w = doubles(pool.parameters()[0].value());
      b = doubles(pool.parameters()[1].value());
    }
    for (std::size_t g = 0; g + 1 < ptr.size(); ++g)
      for (int j = 0; j < kWidth; ++j) {
        double sum = 0, most = -1e300, weights = 0, weighted = 0;
        for (std::int64_t i = ptr[g]; i < ptr[g + 1]; ++i) {
          const double v = xs[i * kWidth + j];
          sum += v;
          most = std::max(most, v);
          if (kind != PoolKind::kAttention) continue;
          double gate = b[0];
          for (int k = 0; k < kWidth; ++k) gate += xs[i * kWidth + k] * w[k];
          weights += std::exp(gate);
          weighted += std::exp(gate) * v;
        }
        const auto n = static_cast<double>(ptr[g + 1] - ptr[g]);
        want.push_back(n == 0                    ? 0
                       : kind == PoolKind::kSum  ? sum
                       : kind == PoolKind::kMean ? sum / n
                       : kind == PoolKind::kMax  ? most
                                                 : weighted / weights);
      }
    EXPECT_TRUE(near(pool.forward(x, offsets()).value(), want, 1e-12, 1e-14)) << name(kind);
  }
}

TEST_P(LayersGraphPool, Gradients) {
  for (const PoolKind kind : kAll) {
    Random random(4);
    const GraphPool pool(kind, 4, random, device(), DType::kF64);
    EXPECT_TRUE(layer_gradients_ok(
        pool, [&](const Variable& x) { return pool.forward(x, offsets()); },
        random_variable({9, 4}, device())))
        << name(kind);
  }
}

TEST_P(LayersGraphPool, Errors) {
  EXPECT_ERROR(parse_name<PoolKind>("--pool", "median"),
               "--pool must be sum, mean, max or attention, got 'median'");
  Random random;
  const GraphPool pool(PoolKind::kSum, 2, random, device());
  EXPECT_THROW(pool.forward(Variable(Tensor::zeros({4, 2}, DType::kF32, device())), offsets()), Error);
}

}  // namespace
}  // namespace rodeo::test
