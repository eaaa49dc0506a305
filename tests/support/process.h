/// Runs the command-line programs in child processes.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/error.h"

// Defined in the runtime of a sanitizer alone, which the library may have where this source has none.
extern "C" {
__attribute__((weak)) void __asan_init();  // NOLINT(bugprone-reserved-identifier)
__attribute__((weak)) void __tsan_init();  // NOLINT(bugprone-reserved-identifier)
}

namespace rodeo::test {

inline bool thread_sanitized() {
  return __tsan_init != nullptr;
}
inline bool sanitized() {
  return __asan_init != nullptr || thread_sanitized();
}

/// The path of a command, in the folder bin next to that of the test binary.
inline std::string command(const char* name) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin" / name)
      .string();
}

/// Starts a program. stdout and stderr are redirected to the files `out` and `err`, if given.
inline pid_t start(const std::vector<std::string>& arguments, const std::string& out = {},
                   const std::string& err = {}) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY;
  if (!out.empty()) posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), kFlags, 0666);
  if (!err.empty()) posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), kFlags, 0666);
  pid_t child = 0;
  const bool ok = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  check(ok, argv[0], ": cannot be run");
  return child;
}

/// Waits for the child. Returns its exit code, or minus the signal that killed it.
inline int wait_for(pid_t child) {
  int status = 0;
  check(waitpid(child, &status, 0) == child, "waitpid failed");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace rodeo::test
