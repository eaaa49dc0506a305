/// Runs LLVMFuzzerTestOneInput on mutations of the seeds: a fuzzer for compilers without one.
///   load_dataset_fuzz SECONDS [SEED [FOLDER]]
/// Mutation i is a function of SEED and i. A child process runs a batch of them, so that a crash identifies
/// its input. The input is written to FOLDER (default: the current one) and the run continues. Exit code 1
/// after crashes.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "core/random.h"
#include "tests/fuzz/seeds.h"
#include "tests/support/temp_dir.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using rodeo::random_word;

constexpr std::uint64_t kBatch = 500;
constexpr unsigned kSecondsEach = 20;  // time limit of one input

/// Makes a few changes: bits, bytes, runs, copies, boundary values, small increments, truncation and swaps.
std::string mutate(std::string bytes, std::uint64_t seed, std::uint64_t number) {
  std::uint64_t draws = 0;
  const auto below = [&](std::uint64_t n) { return n == 0 ? 0 : random_word(seed, number, draws++) % n; };
  const std::uint64_t changes = 1 + below(6);
  for (std::uint64_t k = 0; k < changes && !bytes.empty(); ++k) {
    const std::uint64_t at = below(bytes.size()), room = bytes.size() - at;
    switch (below(8)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(below(256));
        break;
      case 2:
        std::memset(&bytes[at], below(2) ? 0xff : 0, std::min<std::uint64_t>(room, 1 + below(16)));
        break;
      case 3: {
        const std::uint64_t from = below(bytes.size());
        const std::uint64_t n =
            std::min({room, static_cast<std::uint64_t>(bytes.size() - from), 1 + below(64)});
        std::memmove(&bytes[at], &bytes[from], n);
        break;
      }
      case 4: {
        constexpr std::int64_t kBoundary[] = {-1,           0,         1,        2147483647, -2147483648LL,
                                              4294967296LL, 1LL << 40, 1LL << 62};
        const std::int64_t value = kBoundary[below(8)];
        std::memcpy(&bytes[at], &value, std::min<std::uint64_t>(room, 1u << below(4)));
        break;
      }
      case 5:  // add -4 .. 4
        bytes[at] = static_cast<char>(bytes[at] + static_cast<char>(below(9)) - 4);
        break;
      case 6:
        if (below(8) == 0) bytes.resize(at);
        break;
      default:
        std::swap(bytes[at], bytes[below(bytes.size())]);
    }
  }
  return bytes;
}

/// A child process runs inputs [begin, end). Returns the first that crashed or hung, or end.
std::uint64_t run_batch(const std::vector<std::string>& seeds, std::uint64_t seed, std::uint64_t begin,
                        std::uint64_t end) {
  int progress[2];
  if (::pipe(progress) != 0) std::abort();
  const pid_t child = ::fork();
  if (child < 0) std::abort();
  if (child == 0) {
    ::close(progress[0]);
    for (std::uint64_t i = begin; i < end; ++i) {
      ::alarm(kSecondsEach);
      const std::string input = mutate(seeds[i % seeds.size()], seed, i);
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
      if (::write(progress[1], "", 1) != 1) std::abort();
    }
    ::_exit(0);
  }
  ::close(progress[1]);
  std::uint64_t done = 0;
  char buffer[256];
  for (ssize_t got = 0; (got = ::read(progress[0], buffer, sizeof buffer)) > 0;)
    done += static_cast<std::uint64_t>(got);
  ::close(progress[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? end : begin + done;
}

std::uint64_t number(const char* text) {
  std::uint64_t value = 0;
  std::from_chars(text, text + std::strlen(text), value);
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t seconds = argc > 1 ? number(argv[1]) : 60, seed = argc > 2 ? number(argv[2]) : 1;
  const std::string folder = argc > 3 ? argv[3] : ".";
  const rodeo::test::TempDir dir;
  const std::vector<std::string> seeds = rodeo::fuzz::seeds(dir / ".");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::uint64_t next = 0, crashes = 0;
  while (std::chrono::steady_clock::now() < end) {
    const std::uint64_t stop = next + kBatch, reached = run_batch(seeds, seed, next, stop);
    if (reached < stop) {
      const std::string path =
          folder + "/crash_" + std::to_string(seed) + "_" + std::to_string(reached) + ".h5";
      std::ofstream(path, std::ios::binary) << mutate(seeds[reached % seeds.size()], seed, reached);
      std::printf("input %llu crashes or hangs: %s\n", static_cast<unsigned long long>(reached),
                  path.c_str());
      ++crashes;
    }
    next = std::min(stop, reached + 1);
  }
  std::printf("%llu inputs in %llu s, %llu crashes\n", static_cast<unsigned long long>(next),
              static_cast<unsigned long long>(seconds), static_cast<unsigned long long>(crashes));
  return crashes == 0 ? 0 : 1;
}
