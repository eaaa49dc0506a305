/// Checks that run before shared libraries begin, and before much of the stack is used.
///   - OpenBLAS maps a buffer of 128 MiB for each thread when it is loaded, and tries without end where there
///     is no room: under `ulimit -v` the process would hang before main(). With such a limit it begins with
///     one thread, and matmul() adds those whose buffers fit.
///   - Where `ulimit -s` is too small for the stack, the process ends by a signal, without a word.
/// For the file of main() only: a shared library may not have such a function.
#pragma once

#include <alloca.h>
#include <sys/resource.h>
#include <unistd.h>

#include <climits>
#include <cstring>
#include <initializer_list>

#include "core/host/address_space.h"

namespace rodeo {

/// Beside the program and its libraries: the buffers of OpenBLAS for one thread, and the heap of a small run.
inline constexpr rlim_t kLeastAddresses = rlim_t{320} << 20;
/// Training takes less than 96 KiB.
inline constexpr rlim_t kLeastStack = rlim_t{256} << 10;

RODEO_BEFORE_SANITIZERS inline void check_limit(decltype(RLIMIT_AS) resource, rlim_t least,
                                                const char* program, const char* message) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur >= least) return;
  for (const char* text : {program, message})
    if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
  ::_exit(4);  // as for other lacks of memory
}

/// Where the address space has a limit: the program starts anew with one thread of OpenBLAS.
/// RODEO_THREADS_WANTED keeps OMP_NUM_THREADS for configure_threads().
RODEO_BEFORE_SANITIZERS inline void begin_with_one_thread(char** argv, char** environment) {
  static char one[] = "OMP_NUM_THREADS=1", one_of_blas[] = "OPENBLAS_NUM_THREADS=1";
  constexpr std::size_t kValue = sizeof "OMP_NUM_THREADS=" - 1,
                        kValueOfBlas = sizeof "OPENBLAS_NUM_THREADS=" - 1;
  if (address_space_limit() == RLIM_INFINITY) return;
  std::size_t count = 0;
  char wanted[64] = "RODEO_THREADS_WANTED=";
  const std::size_t begin = std::strlen(wanted);
  for (; environment[count]; ++count) {
    if (std::strncmp(environment[count], wanted, begin) == 0) return;  // started anew before
    if (std::strncmp(environment[count], one, kValue) == 0)
      std::strncpy(wanted + begin, environment[count] + kValue, sizeof wanted - begin - 1);
  }
  char program[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", program, sizeof program - 1);
  if (length <= 0) return;
  program[length] = 0;
  char** const variables = static_cast<char**>(alloca((count + 4) * sizeof(char*)));
  std::size_t kept = 0;
  for (char* variable : {one_of_blas, one, static_cast<char*>(wanted)}) variables[kept++] = variable;
  for (std::size_t i = 0; i < count; ++i)
    if (std::strncmp(environment[i], one, kValue) != 0 &&
        std::strncmp(environment[i], one_of_blas, kValueOfBlas) != 0)
      variables[kept++] = environment[i];
  variables[kept] = nullptr;
  ::execve(program, argv, variables);  // returns only if it fails
}

RODEO_BEFORE_SANITIZERS inline void check_limits(int, char** argv, char** environment) {
  check_limit(RLIMIT_STACK, kLeastStack, argv[0],
              ": less than 256 KiB of stack are allowed: raise ulimit -s\n");
  check_limit(RLIMIT_AS, mapped_bytes() + kLeastAddresses, argv[0],
              ": less than 320 MiB of address space are left for it: raise ulimit -v\n");
  begin_with_one_thread(argv, environment);
}

namespace {
__attribute__((section(".preinit_array"), used)) void (*const kCheckLimits)(int, char**,
                                                                            char**) = check_limits;
}  // namespace

}  // namespace rodeo
