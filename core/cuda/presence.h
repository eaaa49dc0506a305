/// Which CUDA devices can be used, and error texts that say why one cannot: what is wrong, what was expected,
/// what to do. Version numbers are CUDA's: 13000 is 13.0. presence_stub.cpp replaces it in a CPU-only build.
#pragma once

#include <string>
#include <string_view>

namespace rodeo::cuda {

int device_count();
/// Why device_count() is 0; empty if it is not.
std::string absence_reason();
/// Why kernels of this build cannot run on device `index`; empty if they can. Creates the device's CUDA
/// context.
std::string refusal(int index);
/// Loads one kernel for the current device; returns the status (cudaError_t). Defined in elementwise.cu.
int load_a_kernel();

/// Version of the CUDA runtime in this build.
int runtime_version();

/// The driver is older than the runtime requires; driver_version is 0 if there is none.
std::string driver_trouble(int driver_version, int runtime_version);
/// The driver finds no GPU. `visible` is the value of CUDA_VISIBLE_DEVICES, null if unset.
std::string no_device_trouble(const char* visible);
/// A GPU that this build has no machine code for, or that no build supports (compute capability below 8.0).
std::string architecture_trouble(std::string_view device, int major, int minor, std::string_view built_for);

}  // namespace rodeo::cuda
