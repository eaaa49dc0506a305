#include "core/cpu_level.h"

#include <cstdlib>

#include "core/error.h"

namespace rodeo {
namespace {

constexpr std::string_view kNames[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};

CpuLevel best_level() {
#if RODEO_CPU_LEVELS
  if (__builtin_cpu_supports("x86-64-v4")) return CpuLevel::kV4;
  if (__builtin_cpu_supports("x86-64-v3")) return CpuLevel::kV3;
#endif
  return CpuLevel::kV2;
}

}  // namespace

CpuLevel choose_cpu_level(std::string_view name, CpuLevel best) {
  if (name.empty()) return best;
  for (int i = 0; i < 3; ++i) {
    if (name != kNames[i].substr(7)) continue;
    check(i <= static_cast<int>(best), "RODEO_CPU_LEVEL=", name, ": this processor supports ",
          kNames[static_cast<int>(best)], " at most; unset it");
    return static_cast<CpuLevel>(i);
  }
  fail("RODEO_CPU_LEVEL must be v2, v3 or v4, got '", name, "'");
}

CpuLevel cpu_level() {
  static const CpuLevel level = [] {
    const char* const name = std::getenv("RODEO_CPU_LEVEL");
    return choose_cpu_level(name ? name : "", best_level());
  }();
  return level;
}

std::string_view cpu_level_name() {
#if RODEO_CPU_LEVELS
  return kNames[static_cast<int>(cpu_level())];
#elif RODEO_NATIVE
  return "native";
#else
  return "baseline";
#endif
}

}  // namespace rodeo
