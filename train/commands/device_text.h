/// Descriptions of devices for the user.
#pragma once

#include <string>
#include <string_view>

#include "core/device.h"

namespace rodeo {

/// "cuda:0 (NVIDIA H200)". If --device auto fell back to the CPU, it says so.
std::string describe_device(std::string_view requested, Device device);

/// --list-devices: a line for each usable device, and the reason if there is no CUDA device.
std::string list_devices();

}  // namespace rodeo
