/// Which CPU kernels run, in a build for any x86-64 processor (RODEO_NATIVE=OFF, cmake/CpuLevels.cmake).
#pragma once

#include <string_view>

namespace rodeo {

/// The levels of x86-64 that CPU kernels are compiled for: v2 has SSE4.2, v3 AVX2 and FMA, v4 AVX-512.
enum class CpuLevel { kV2, kV3, kV4 };

/// The level called `name`, "v2", "v3" or "v4"; `best` where it is empty. Throws Error if the name is another
/// one, or the level is above `best`.
CpuLevel choose_cpu_level(std::string_view name, CpuLevel best);

/// The level of this process: the best one of the processor, or the one that the environment variable
/// RODEO_CPU_LEVEL names. Throws Error as choose_cpu_level() does.
CpuLevel cpu_level();

/// What CPU kernels are compiled for: "x86-64-v3" as the level of this process; "native" in a build for the
/// processor of the build machine; "baseline" where the compiler knows no levels.
std::string_view cpu_level_name();

}  // namespace rodeo
