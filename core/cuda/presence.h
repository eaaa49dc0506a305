/// Whether CUDA can be used here, and the sentences that say why not: what is wrong, what was expected, what
/// to do. Versions are CUDA's numbers: 13000 is 13.0.
#pragma once

#include <string>
#include <string_view>

namespace rodeo::cuda {

/// That of the runtime in this build.
int runtime_version();

/// A driver that the runtime refuses; 0: there is none.
std::string driver_trouble(int driver_version, int runtime_version);
/// A driver that shows no GPU. `visible` is the value of CUDA_VISIBLE_DEVICES, null where it is not set.
std::string no_device_trouble(const char* visible);
/// A GPU that none of the build's machine code is for.
std::string architecture_trouble(std::string_view device, int major, int minor, std::string_view built_for);

}  // namespace rodeo::cuda
