/// Instantiates a test suite for every device. Tests of an absent device are skipped.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "core/device.h"
#include "core/dtype.h"
#include "core/error.h"

namespace rodeo::test {

inline const std::vector<DType> kFloats{DType::kF64, DType::kF32, DType::kBF16, DType::kF16};

class OnDevice : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    if (device().is_cuda() && !cuda_absence_reason().empty())
      GTEST_SKIP() << "no CUDA device: " << cuda_absence_reason();
  }
  static Device device() { return GetParam(); }
};

#define RODEO_ON_ALL_DEVICES(Suite)                                                     \
  INSTANTIATE_TEST_SUITE_P(, Suite, testing::Values(kCpu, cuda_device()),               \
                           [](const testing::TestParamInfo<Device>& info) {             \
                             return std::string(info.param.is_cuda() ? "cuda" : "cpu"); \
                           })

/// The text of the Error that f() throws. The test fails if f() does not throw.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no rodeo::Error was thrown";
  return {};
}

#define EXPECT_ERROR(expression, text) \
  EXPECT_EQ(::rodeo::test::error_of([&] { static_cast<void>(expression); }), std::string(text))

}  // namespace rodeo::test
