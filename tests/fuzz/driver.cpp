/// fuzz TARGET|all SECONDS [SEED [FOLDER]]: a fuzzer for compilers without one.
///
/// Input i of a target is a function of SEED and i. A child process runs a batch of them, so that a crash
/// identifies its input. The input is written to FOLDER (default: the current one) and the run continues.
/// Exit code 1 after crashes, and where a target accepts none of many inputs. `fuzz TARGET @NUMBER SEED` runs
/// one input in this process, for a debugger, @FIRST-LAST several: one may crash after others only.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "core/error.h"
#include "core/threads.h"
#include "datasets/hdf5_check.h"
#include "tests/fuzz/target.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace rodeo::fuzz {
namespace {

constexpr std::uint64_t kBatch = 500;
constexpr unsigned kSecondsEach = 20;                      // time limit of one input
constexpr std::uint64_t kMemory = std::uint64_t{4} << 30;  // address space of a child

using Clock = std::chrono::steady_clock;

/// Whether the target accepted the input.
bool run_one(const Target& target, std::uint64_t seed, std::uint64_t number, const std::string& folder) {
  // An error here ends the process: the parent makes inputs, too, and nobody catches it there.
  const std::string input = target.input(seed, number);
  try {
    target.run(input, number, folder);
    return true;
  } catch (const OutOfMemory& error) {  // inputs are small: none needs gigabytes
    std::fprintf(stderr, "%s\n", error.what());
    std::abort();
  } catch (const Error& error) {
    check(!std::strchr(error.what(), '\n'), "an error of two lines");  // another exception: ends the process
  }
  return false;
}

/// A child process runs inputs [begin, end) until `last`. Returns the first that crashed or hung, or the
/// next. Adds to `accepted`.
std::uint64_t run_batch(const Target& target, std::uint64_t seed, std::uint64_t begin, std::uint64_t end,
                        Clock::time_point last, const std::string& folder, bool& crashed,
                        std::uint64_t& accepted) {
  int progress[2];
  if (::pipe(progress) != 0) std::abort();
  const pid_t child = ::fork();
  if (child < 0) std::abort();
  if (child == 0) {
    ::close(progress[0]);
    const rlimit memory{kMemory, kMemory};
    if (!test::sanitized()) ::setrlimit(RLIMIT_AS, &memory);
    set_num_threads(std::min(num_threads(), 2));  // the heap of each thread takes 128 MiB of address space
    for (std::uint64_t i = begin; i < end && Clock::now() < last; ++i) {
      ::alarm(kSecondsEach);
      const char ok = run_one(target, seed, i, folder) ? 1 : 0;
      if (::write(progress[1], &ok, 1) != 1) std::abort();
    }
    ::_exit(0);
  }
  ::close(progress[1]);
  std::uint64_t done = 0;
  char buffer[256];
  for (ssize_t got = 0; (got = ::read(progress[0], buffer, sizeof buffer)) > 0;) {
    done += static_cast<std::uint64_t>(got);
    accepted += static_cast<std::uint64_t>(std::count(buffer, buffer + got, 1));
  }
  ::close(progress[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  crashed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  return begin + done;
}

/// Whether check_hdf5_file() refuses the file: a crash of the HDF5 library, from which users are protected.
bool is_refused(const std::string& path) {
  try {
    check_hdf5_file(path);
    return false;
  } catch (const Error&) {
    return true;
  }
}

/// Whether check_hdf5_file() refuses input `last`, or one from `first` on: HDF5 may damage memory with one
/// file, and crash on the next.
bool is_any_refused(const Target& target, std::uint64_t seed, std::uint64_t first, std::uint64_t last,
                    const std::string& path) {
  for (std::uint64_t i = last + 1; i-- > first;) {
    std::ofstream(path, std::ios::binary) << target.input(seed, i);
    if (is_refused(path)) return true;
  }
  return false;
}

std::uint64_t run_target(const Target& target, double seconds, std::uint64_t seed,
                         const std::string& folder) {
  const test::TempDir dir;
  const auto end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::uint64_t next = 0, crashes = 0, refused = 0, accepted = 0;
  for (const std::uint64_t first : {0, 1}) target.input(seed, first);  // makes what all children share
  while (Clock::now() < end) {
    bool crashed = false;
    const std::uint64_t begin = next;
    next = run_batch(target, seed, next, next + kBatch, end, dir / ".", crashed, accepted);
    if (!crashed) continue;
    const std::string path = str(folder, "/crash_", target.name, "_", seed, "_", next);
    if (target.hdf5 && is_any_refused(target, seed, begin, next, path)) {
      ::unlink(path.c_str());
      ++refused;
    } else {
      std::ofstream(path, std::ios::binary) << target.input(seed, next);
      std::printf("%s: input %llu crashes or hangs, alone or after those from %llu on: %s\n",
                  target.name.data(), static_cast<unsigned long long>(next),
                  static_cast<unsigned long long>(begin), path.c_str());
      ++crashes;
    }
    ++next;
  }
  std::printf("%-12s %9llu inputs, %llu accepted, %llu crashes", target.name.data(),
              static_cast<unsigned long long>(next), static_cast<unsigned long long>(accepted),
              static_cast<unsigned long long>(crashes));
  if (target.hdf5)
    std::printf(", %llu of HDF5 that check_hdf5_file() refuses", static_cast<unsigned long long>(refused));
  // Some inputs are valid. Where none is accepted, all are refused for one reason, and nothing is tested.
  const bool none = accepted == 0 && next >= kBatch;
  if (none) std::printf(": a target must accept some inputs");
  std::printf("\n");
  std::fflush(stdout);
  return crashes + (none ? 1 : 0);
}

std::uint64_t number(const char* text) {
  std::uint64_t value = 0;
  std::from_chars(text, text + std::strlen(text), value);
  return value;
}

int run(int argc, char** argv) {
  std::vector<Target> chosen;
  const std::string_view name = argc > 1 ? argv[1] : "";
  for (const Target& target : targets())
    if (name == "all" || name == target.name) chosen.push_back(target);
  if (chosen.empty() || argc < 3) {
    std::fprintf(stderr, "fuzz TARGET|all SECONDS|@NUMBER|@FIRST-LAST [SEED [FOLDER]]\ntargets:");
    for (const Target& target : targets()) std::fprintf(stderr, " %s", target.name.data());
    std::fprintf(stderr, "\n");
    return 2;
  }
  const std::uint64_t seed = argc > 3 ? number(argv[3]) : 1;
  const std::string folder = argc > 4 ? argv[4] : ".";
  set_num_threads(1);  // a child of fork() has no other threads
  ::setenv("RODEO_CACHE_DIR", "", 1);
  if (::access("/dev/shm", W_OK) == 0) ::setenv("TMPDIR", "/dev/shm", 0);  // files in memory
  if (argv[2][0] == '@') {
    const test::TempDir dir;
    const char* last = std::strchr(argv[2], '-');
    std::uint64_t i = number(argv[2] + 1);
    for (const std::uint64_t end = last ? number(last + 1) : i; i <= end; ++i)
      run_one(chosen[0], seed, i, dir / ".");
    return 0;
  }
  const double seconds = static_cast<double>(number(argv[2])) / static_cast<double>(chosen.size());
  std::uint64_t crashes = 0;
  for (const Target& target : chosen) crashes += run_target(target, seconds, seed, folder);
  return crashes == 0 ? 0 : 1;
}

}  // namespace

std::span<const Target> targets() {
  static const std::vector<Target> all = [] {
    std::vector<Target> rows;
    for (const auto part : {dataset_targets(), import_targets(), training_targets()})
      rows.insert(rows.end(), part.begin(), part.end());
    return rows;
  }();
  return all;
}

}  // namespace rodeo::fuzz

int main(int argc, char** argv) {
  return rodeo::fuzz::run(argc, argv);
}
