/// Host settings that keep one test process fast on a machine with many cores.
#pragma once

#include <malloc.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

namespace rodeo::test {

/// Call first in main(); it may restart the process. It sets
///   OMP_WAIT_POLICY=passive, unless the variable is set: idle OpenMP threads sleep instead of spinning. The
///   tests alternate between short parallel loops and serial code, and spinning threads take CPU time from
///   the main thread and the CUDA driver. OpenMP reads the variable when it is loaded, hence the restart;
///   malloc without mmap and without trimming: freed memory is reused instead of being mapped and zeroed
///   again.
inline void set_up_host(char** argv) {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
  if (std::getenv("OMP_WAIT_POLICY")) return;
  setenv("OMP_WAIT_POLICY", "passive", 1);
  execv("/proc/self/exe", argv);  // returns only on failure: the tests then run with spinning threads
}

}  // namespace rodeo::test
