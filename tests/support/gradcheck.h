/// rodeo::gradcheck as a GoogleTest assertion.
#pragma once

#include <gtest/gtest.h>

#include "core/gradcheck.h"
#include "tests/support/near.h"

namespace rodeo::test {

inline Variable random_variable(const Shape& shape, Device device, std::uint64_t seed = 1) {
  return Variable(random_tensor(shape, DType::kF64, device, seed), /*requires_grad=*/true);
}

inline testing::AssertionResult gradients_ok(const std::function<Variable(const std::vector<Variable>&)>& f,
                                             const std::vector<Variable>& inputs) {
  const GradcheckResult result = gradcheck(f, inputs);
  return result.ok ? testing::AssertionSuccess() : testing::AssertionFailure() << result.message;
}

}  // namespace rodeo::test
