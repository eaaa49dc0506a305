/// How a command ends: exit codes, and the one line on stderr that says what failed.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace rodeo {

/// docs/daily_use.md has the table.
enum ExitCode { kDone = 0, kFailed = 2, kNotFinite = 3, kOutOfMemory = 4 };
/// The list of exit codes for --help, one paragraph.
std::string exit_code_help();

/// Thrown at the end of a run that a signal cut short: the command ends with 128 + signal.
struct Interrupted {
  int signal;
};

struct Failure {
  int exit_code;
  std::string message;  // one line
};
/// The exit code and message of the exception being handled. Call it in a catch block.
Failure current_failure();

/// Runs a command's body and returns its exit code. Prints an error as "program: message" on stderr. It is
/// also an error if stdout cannot be written to.
int run_command(std::string_view program, const std::function<void()>& body);

}  // namespace rodeo
