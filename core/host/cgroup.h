/// The limits of a container or batch job.
#pragma once

#include <cstddef>
#include <string>

#include "core/device_type.h"

namespace rodeo {

/// `room`, reduced to what the control groups of this process allow: version 2 (memory.max, memory.current)
/// and version 1 (memory.limit_in_bytes, memory.usage_in_bytes), each group up to the root. Cached files
/// count as free, because the kernel drops them first. A file that cannot be read is no limit. `root` is a
/// prefix of /proc and /sys, for tests.
MemoryRoom within_control_groups(MemoryRoom room, const std::string& root = "");

/// Processors that the control groups of this process may use at a time, rounded up: version 2 (cpu.max) and
/// version 1 (cpu.cfs_quota_us, cpu.cfs_period_us), the smallest of all groups up to the root. 0: no limit.
int processors_of_control_groups(const std::string& root = "");

/// Whether the limit of the address space (ulimit -v) has room for `blocks` mappings of `bytes`.
bool can_map(int blocks, std::size_t bytes);

}  // namespace rodeo
