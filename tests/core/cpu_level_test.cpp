#include "core/cpu_level.h"

#include <gtest/gtest.h>

#include "tests/support/devices.h"

namespace rodeo {
namespace {

TEST(CoreCpuLevel, TheBestOrANamedOneBelowIsChosen) {
  EXPECT_EQ(choose_cpu_level("", CpuLevel::kV3), CpuLevel::kV3);
  EXPECT_EQ(choose_cpu_level("v2", CpuLevel::kV4), CpuLevel::kV2);
  EXPECT_EQ(choose_cpu_level("v4", CpuLevel::kV4), CpuLevel::kV4);
}

TEST(CoreCpuLevel, RefusesWhatTheProcessorDoesNotHave) {
  EXPECT_ERROR(choose_cpu_level("v4", CpuLevel::kV3),
               "RODEO_CPU_LEVEL=v4: this processor supports x86-64-v3 at most; unset it");
  EXPECT_ERROR(choose_cpu_level("avx2", CpuLevel::kV4), "RODEO_CPU_LEVEL must be v2, v3 or v4, got 'avx2'");
}

}  // namespace
}  // namespace rodeo
