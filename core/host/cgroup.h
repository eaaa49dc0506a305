/// The memory limit of a container or batch job.
#pragma once

#include <string>

#include "core/device.h"

namespace rodeo {

/// `room` of the machine, or what the control groups of this process leave of it where that is less: version
/// 2 (memory.max, memory.current) and version 1 (memory.limit_in_bytes, memory.usage_in_bytes), each group up
/// to the root. Cached files count as free, as the kernel drops them first. What cannot be read is no limit.
/// `root` is before /proc and /sys.
MemoryRoom within_control_groups(MemoryRoom room, const std::string& root = "");

}  // namespace rodeo
