#include "train/commands/run_command.h"

#include <unistd.h>

#include <cstdio>
#include <new>
#include <system_error>

#include "core/host/terminal.h"
#include "core/quoting.h"
#include "core/storage.h"
#include "train/nan_watch.h"

namespace rodeo {

std::string exit_code_help() {
  return "Exit codes: 0 done, 2 wrong options or data, a device that cannot be used, a file that cannot be "
         "written, 3 a loss or result that is not finite, 4 out of memory, 129, 130 and 143 stopped by "
         "SIGHUP, "
         "Ctrl-C or SIGTERM (the first one ends the epoch, the second the process).";
}

Failure current_failure() {
  try {
    throw;
  } catch (const NotFinite& error) {
    return {kNotFinite, error.what()};
  } catch (const OutOfMemory& error) {
    return {kOutOfMemory, error.what()};
  } catch (const std::bad_alloc&) {
    return {kOutOfMemory, "out of host memory"};
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again) return {kFailed, error.what()};
    return {kOutOfMemory, "a thread cannot be started: raise ulimit -v or ulimit -u"};
  } catch (const std::exception& error) {
    return {kFailed, error.what()};
  }
}

int run_command(std::string_view program, const std::function<void()>& body) {
  try {
    body();
    check(std::fflush(stdout) == 0 && !std::ferror(stdout), "cannot write to the standard output");
    return kDone;
  } catch (const Interrupted& interrupted) {
    return 128 + interrupted.signal;
  } catch (...) {
    const Failure failure = current_failure();
    const std::string name = paint(has_colours(STDERR_FILENO), Colour::kRed, program);
    // Not fmt::print(), which throws where stderr cannot be written.
    std::fputs(str(name, ": ", printable(failure.message), "\n").c_str(), stderr);
    return failure.exit_code;
  }
}

}  // namespace rodeo
