/// Host memory that the ranks of a host share.
#pragma once

#include "core/communicator.h"
#include "core/tensor.h"

namespace rodeo {

/// The ranks that run on this rank's host. Ranks in other containers are on other hosts.
struct HostRanks {
  int rank = 0;   // number of this one among them
  int size = 1;   // how many they are
  int hosts = 1;  // how many hosts the run has
};
/// A collective call. Deterministic.
HostRanks ranks_of_host(const Communicator& ranks);

/// Page-locked host memory (page_locked()) that the ranks of a host share: what one rank writes, the others
/// read after a collective. It exists on the CPU, too. It is freed when the last of them releases it. All
/// ranks call it with the same arguments, but for the number of the device. Throws OutOfMemory on all ranks
/// if one of them cannot have it, which it names.
Tensor page_locked_of_host(const Shape& shape, DType dtype, Device device, const Communicator& ranks);

}  // namespace rodeo
