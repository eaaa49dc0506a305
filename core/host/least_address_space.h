/// A check that runs before shared libraries begin. OpenBLAS maps a buffer when it is loaded, and tries
/// without end where `ulimit -v` leaves no room: the process would hang before main(). For the file of main()
/// only: a shared library may not have such a function.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <initializer_list>

namespace rodeo {

/// What loading takes, and the multiplications of one thread.
inline constexpr rlim_t kLeastAddressSpace = rlim_t{400} << 20;

// Sanitizers begin later.
__attribute__((no_sanitize("address", "thread", "undefined"))) inline void check_address_space(int,
                                                                                               char** argv,
                                                                                               char**) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= kLeastAddressSpace) return;
  for (const char* text : {static_cast<const char*>(argv[0]),
                           ": less than 400 MiB of address space are allowed: raise ulimit -v\n"})
    if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
  ::_exit(4);  // as for other lacks of memory
}

namespace {
__attribute__((section(".preinit_array"),
               used)) void (*const kCheckAddressSpace)(int, char**, char**) = check_address_space;
}  // namespace

}  // namespace rodeo
