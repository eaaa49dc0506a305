#include <gtest/gtest.h>

#include "ops/kernels/dropout.h"

namespace rodeo::test {
namespace {

// The words around the threshold, and the smallest and the largest word.
TEST(OpsDropoutThreshold, KeepsWordsWhoseFractionIsAtLeastP) {
  for (const double p :
       {1e-30, 1e-9, 0x1p-24, 0.1, 1. / 3, 0.5, 0.6, 0.999, 1 - 0x1p-24, 1 - 0x1p-25, 1 - 1e-12}) {
    const std::uint32_t threshold = kernels::dropout_threshold(p);
    for (const std::uint32_t word : {0u, 255u, threshold - 256, threshold - 1, threshold, threshold + 1,
                                     threshold + 256, 0xfffffeffu, 0xffffffffu})
      EXPECT_EQ(kernels::dropout_keeps(word, threshold), to_unit(word) >= static_cast<float>(p))
          << "word " << word << ", p " << p;
  }
}

TEST(OpsDropoutThreshold, ZeroMeansNoDropout) {
  EXPECT_EQ(kernels::dropout_threshold(0), 0u);
  EXPECT_GT(kernels::dropout_threshold(1e-30), 0u);
}

}  // namespace
}  // namespace rodeo::test
