/// Host settings that keep one test process fast on a machine with many cores.
#pragma once

#include <malloc.h>

#include <climits>

namespace rodeo::test {

/// Call first in main(): malloc without mmap and without trimming. Freed memory is reused instead of being
/// mapped and zeroed again.
inline void set_up_host() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

}  // namespace rodeo::test
