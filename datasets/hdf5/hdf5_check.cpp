/// The parent's side of check_hdf5_file(). The child's is rodeo_h5_check_main.cpp.
#include "datasets/hdf5_check.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/error.h"
#include "core/quoting.h"
#include "datasets/hdf5/check_limits.h"

extern char** environ;

namespace rodeo {
namespace {

namespace fs = std::filesystem;
using hdf5::CheckLimits;

constexpr const char* kProgram = "rodeo_h5_check";

/// The path of the program; empty if it is in none of its places.
std::string find_program() {
  std::error_code none;
  const fs::path folder = fs::read_symlink("/proc/self/exe", none).parent_path();
  for (const fs::path& place : {folder / kProgram, folder / RODEO_LIBEXEC_FROM_BIN / kProgram})
    if (::access(place.c_str(), X_OK) == 0) return place;
  return {};
}

struct Child {
  int error = 0;  // errno of a child that did not start
  pid_t process = -1;
  int output = -1;  // the reading end of its pipe
};

/// Not fork(): a child of a program with OpenMP threads could wait for their locks for ever.
Child start(const std::string& program, const std::string& path, const CheckLimits& limits) {
  Child child;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {.error = errno};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int standard : {STDIN_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, standard, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
#if __GLIBC_PREREQ(2, 34)  // older ones: our own files are closed by O_CLOEXEC, those of HDF5 stay open
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
#endif
  std::vector<std::string> arguments{program, path, str(limits.cpu_seconds), str(limits.memory_mib)};
  std::vector<char*> argv, environment;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  // Threads of OpenBLAS would allocate 128 MiB each as they start, beside the limit or within it.
  std::string one_thread = "OPENBLAS_NUM_THREADS=1";
  for (char** variable = environ; *variable; ++variable)  // the child has sanitizer options of its own
    if (!std::strstr(*variable, "SAN_OPTIONS=") && !std::strstr(*variable, "OPENBLAS_NUM_THREADS="))
      environment.push_back(*variable);
  environment.push_back(one_thread.data());
  argv.push_back(nullptr), environment.push_back(nullptr);
  child.error =
      posix_spawn(&child.process, program.c_str(), &actions, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  child.output = ends[0];
  return child;
}

struct Outcome {
  std::string text;  // lines that the child wrote: what it was about to read
  bool late = false;
  int status = -1;  // of waitpid()
};

Outcome wait_for(const Child& child, std::int64_t seconds) {
  using Clock = std::chrono::steady_clock;
  Outcome outcome;
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd waiting{child.output, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0 && left > 0) continue;
    char buffer[512];
    const ssize_t got = ready > 0 ? ::read(child.output, buffer, sizeof buffer) : -1;
    if (got > 0) outcome.text.append(buffer, static_cast<std::size_t>(got));
    if (ready > 0 && got < 0 && errno == EINTR) continue;
    outcome.late = ready <= 0;
    if (got <= 0) break;
  }
  ::close(child.output);
  if (outcome.late) ::kill(child.process, SIGKILL);
  // With SIGCHLD ignored there is no status: the child's last line tells.
  while (::waitpid(child.process, &outcome.status, 0) < 0 && errno == EINTR) {
  }
  return outcome;
}

/// The last whole line.
std::string last_line(const std::string& text) {
  const std::size_t end = text.rfind('\n');
  if (end == std::string::npos) return {};
  const std::size_t before = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
  return text.substr(before + 1, end - before - 1);
}

std::string describe(const Outcome& outcome, const CheckLimits& limits) {
  const int status = outcome.status;
  const int signal = status != -1 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (outcome.late || signal == SIGXCPU)
    return str("the HDF5 library does not finish reading it (limit: ",
               outcome.late ? limits.wall_seconds : limits.cpu_seconds,
               outcome.late ? " s)" : " s of CPU time)");
  if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == hdf5::kCheckOutOfMemory)
    return str("the HDF5 library needs more than ", limits.memory_mib, " MiB of memory to read it");
  return str("the HDF5 library crashes on it", signal ? str(" (", strsignal(signal), ")") : "");
}

void warn_once(const std::string& path, const std::string& why) {
  static std::atomic<bool> said = false;
  if (said.exchange(true)) return;
  std::fprintf(stderr, "%s\n",
               printable(str("warning: ", path,
                             " is opened without the check for damage that crashes the HDF5 library: ", why))
                   .c_str());
}

}  // namespace

void check_hdf5_file(const std::string& path) {
  std::error_code none;
  if (!fs::is_regular_file(path, none)) return;
  const char* given = std::getenv("RODEO_H5_CHECK");
  const std::string program = given ? given : find_program();
  const auto unchecked = [&](const std::string& why) {
    check(!given, "RODEO_H5_CHECK=", program, ": ", why);
    warn_once(path, why);
  };
  if (program.empty())
    return unchecked(str("the program ", kProgram, " is neither beside this program nor in ",
                         RODEO_LIBEXEC_FROM_BIN, "; set RODEO_H5_CHECK to its path"));
  const CheckLimits limits = hdf5::check_limits(fs::file_size(path, none));
  const Child child = start(program, path, limits);
  if (child.error != 0) {
    if (child.output >= 0) ::close(child.output);
    return unchecked(str(program, " cannot start: ", std::strerror(child.error)));
  }
  const Outcome outcome = wait_for(child, limits.wall_seconds);
  const std::string last = last_line(outcome.text);
  if (last == hdf5::kCheckDone) return;
  if (last.empty()) return unchecked(str(program, " does not run"));
  fail(path, ": ", last, " is damaged: ", describe(outcome, limits));
}

}  // namespace rodeo
