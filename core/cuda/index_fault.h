/// An index out of range that a kernel has found, reported to the host without a wait. ops/index_checks.h
/// states what operators promise.
#pragma once

#include "core/device_type.h"

namespace rodeo::cuda {

/// In page-locked host memory, one for each thread and device.
struct IndexFault {
  int state;  // 0: none; 1: being written; 2: complete
  const char *op, *input;
  long long position, value, limit;
};

/// Argument of a kernel that checks an index input. op and input are string literals: a kernel writes their
/// addresses, which only the host reads.
struct IndexCheck {
  IndexFault* fault;
  const char *op, *input;
};

/// For a kernel on the calling thread's stream. The first call allocates: run the kernel once before
/// capturing a CUDA graph.
IndexCheck index_check(Device device, const char* op, const char* input);

/// Throws Error for an index out of range that a finished kernel of this thread has found, and forgets it.
/// Called wherever the host has waited for a device.
void throw_index_fault();

}  // namespace rodeo::cuda
