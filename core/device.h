/// The device of a tensor: the CPU or one CUDA device.
#pragma once

#include <string>
#include <string_view>

#include "core/device_type.h"
#include "core/memory_stats.h"

namespace rodeo {

/// Number of CUDA devices. 0 in a CPU-only build, or if there is no GPU, no suitable driver or no cuBLASLt.
int cuda_device_count();

/// Why "auto" selects the CPU: no CUDA device, or this build has no code for the first one. Empty if it
/// selects a CUDA device.
std::string cuda_absence_reason();

/// "auto" (the first CUDA device, else the CPU), "cpu", "cuda" or "cuda:i".
/// Throws Error for anything else, and for a CUDA device that is not present or has no code in this build.
Device parse_device(std::string_view text);

/// The product name: "NVIDIA H200", or the processor's name and the number of OpenMP threads.
std::string describe(Device device);

/// Total and free memory. For the CPU, within the limits of the process and its container. What empty_cache()
/// would return is free.
MemoryRoom memory_room(Device device);

/// Memory of released tensors is kept for later ones: on the CPU only large blocks. This returns it to the
/// system or the driver, where other libraries and processes find it, on all devices that this process has
/// used. Waits for this thread's work there. Nothing is done on a device that has failed. Throws Error while
/// this thread captures a CUDA graph.
void empty_cache();

/// Waits until all work of this thread on `device` is done.
void synchronize(Device device);

}  // namespace rodeo
