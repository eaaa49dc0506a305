#include "core/threads.h"

#include <fcntl.h>
#include <omp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "core/error.h"
#include "core/host/address_space.h"
#include "core/host/cgroup.h"
#include "core/text.h"

namespace rodeo {

namespace {

constexpr int kMost = 1024;  // OpenMP ends the process if it cannot start a thread

/// Fewer threads where ulimit -v has no room for the stack, the heap and the buffer of OpenBLAS of each.
void fit_address_space(const char* program) {
  if (address_space_limit() == RLIM_INFINITY) return;
  rlimit stack{};
  ::getrlimit(RLIMIT_STACK, &stack);
  constexpr rlim_t kMapped = rlim_t{224} << 20, kMostStack = rlim_t{24} << 20;
  const int wanted = omp_get_max_threads();
  int count = wanted;
  while (count > 1 && !can_map(count, kMapped + std::min(stack.rlim_cur, kMostStack))) count /= 2;
  if (count == wanted) return;
  std::fprintf(stderr, "%s: %s, as ulimit -v leaves no room for %d\n", program,
               count_of(count, "thread").c_str(), wanted);
  omp_set_num_threads(count);
}

/// A file that is opened in the place of a closed standard file would get the messages.
void open_standard_files() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(file, F_GETFD) < 0)
      static_cast<void>(::open("/dev/null", O_RDONLY));  // writing fails as before
}

}  // namespace

int num_threads() {
  return omp_get_max_threads();
}

void set_num_threads(int count) {
  check(count >= 1 && count <= kMost, "[set_num_threads] count must be in [1, ", kMost, "], got ", count);
  omp_set_num_threads(count);
}

void configure_threads(char** argv) {
  open_standard_files();
  std::signal(SIGXFSZ, SIG_IGN);  // writing fails, which is an Error that names the file
  // Where ulimit -v is set, the program begins with one thread (core/host/least_limits.h).
  const char* const wanted = std::getenv("RODEO_THREADS_WANTED");
  const bool asked = wanted ? *wanted != 0 : std::getenv("OMP_NUM_THREADS") != nullptr;
  if (wanted) omp_set_num_threads(std::clamp(asked ? std::atoi(wanted) : omp_get_num_procs(), 1, kMost));
  const bool too_many = omp_get_max_threads() > kMost;
  if (too_many) setenv("OMP_NUM_THREADS", str(kMost).c_str(), 1);
  const int allowed = asked ? 0 : processors_of_control_groups();
  if (allowed > 0 && allowed < omp_get_max_threads()) omp_set_num_threads(allowed);
  bool chosen = omp_get_max_threads() == 1;
  for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"})
    chosen = chosen || std::getenv(name);
  if (chosen && !too_many) return fit_address_space(argv[0]);
  if (!chosen) {
    setenv("OMP_WAIT_POLICY", "passive", 1);
    setenv("GOMP_SPINCOUNT", "1000", 1);
  }
  constexpr const char* kThisProgram = "/proc/self/exe";
  std::error_code none;
  const std::filesystem::path program = std::filesystem::read_symlink(kThisProgram, none);
  // These return only if they fail. Then the program goes on, with spinning threads.
  execv(program.c_str(), argv);  // by its path, which names the process in ps and top
  execv(kThisProgram, argv);     // the file was moved or deleted
}

}  // namespace rodeo
