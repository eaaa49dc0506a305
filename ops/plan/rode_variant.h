/// Names of what SpmmAlgorithm::kRode runs (ops/spmm_variant.h).
#pragma once

#include <string_view>

#include "ops/plan/spmm_config.h"

namespace rodeo {

/// "rode-tiny" and "rode-small" where all launches are of SpmmKernel::kTiny and kTeams; else "rode".
std::string_view rode_variant(const SpmmConfig& config);

}  // namespace rodeo
