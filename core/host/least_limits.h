/// Checks that run before shared libraries begin, and before much of the stack is used.
///   - OpenBLAS maps a buffer when it is loaded, and tries without end where `ulimit -v` leaves no room: the
///     process would hang before main().
///   - Where `ulimit -s` is too small for the stack, the process ends by a signal, without a word.
/// For the file of main() only: a shared library may not have such a function.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <initializer_list>

namespace rodeo {

struct LeastLimit {
  decltype(RLIMIT_AS) resource;
  rlim_t bytes;
  const char* text;
};
inline constexpr LeastLimit kLeastLimits[] = {
    // What loading takes, and the multiplications of one thread.
    {RLIMIT_AS, rlim_t{400} << 20, ": less than 400 MiB of address space are allowed: raise ulimit -v\n"},
    // Training takes less than 96 KiB.
    {RLIMIT_STACK, rlim_t{256} << 10, ": less than 256 KiB of stack are allowed: raise ulimit -s\n"}};

// Sanitizers begin later.
__attribute__((no_sanitize("address", "thread", "undefined"))) inline void check_limits(int, char** argv,
                                                                                        char**) {
  for (const LeastLimit& least : kLeastLimits) {
    rlimit limit{};
    if (::getrlimit(least.resource, &limit) != 0 || limit.rlim_cur >= least.bytes) continue;
    for (const char* text : {static_cast<const char*>(argv[0]), least.text})
      if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
    ::_exit(4);  // as for other lacks of memory
  }
}

namespace {
__attribute__((section(".preinit_array"), used)) void (*const kCheckLimits)(int, char**,
                                                                            char**) = check_limits;
}  // namespace

}  // namespace rodeo
