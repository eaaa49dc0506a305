/// The address space of the process. System calls alone: this also runs before shared libraries begin.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

// Sanitizers begin later.
#define RODEO_BEFORE_SANITIZERS __attribute__((no_sanitize("address", "thread", "undefined")))

namespace rodeo {

/// What `ulimit -v` allows, in bytes; RLIM_INFINITY without a limit.
RODEO_BEFORE_SANITIZERS inline rlim_t address_space_limit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

/// Bytes that are mapped.
RODEO_BEFORE_SANITIZERS inline rlim_t mapped_bytes() {
  char text[32] = {};
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0 || ::read(file, text, sizeof text - 1) < 0) text[0] = 0;
  if (file >= 0) ::close(file);
  rlim_t pages = 0;
  for (const char* digit = text; *digit >= '0' && *digit <= '9'; ++digit) pages = 10 * pages + (*digit - '0');
  return pages * static_cast<rlim_t>(::getpagesize());
}

}  // namespace rodeo
