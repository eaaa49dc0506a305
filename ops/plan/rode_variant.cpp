#include "ops/plan/rode_variant.h"

#include <algorithm>

namespace rodeo {

std::string_view rode_variant(const SpmmConfig& config) {
  const auto all_are = [&](SpmmKernel kernel) {
    return std::ranges::all_of(config.launches(), [=](const SpmmLaunch& l) { return l.kernel == kernel; });
  };
  if (all_are(SpmmKernel::kTiny)) return "rode-tiny";
  return all_are(SpmmKernel::kTeams) ? "rode-small" : "rode";
}

}  // namespace rodeo
