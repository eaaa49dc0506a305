#include "train/commands/run_on_ranks.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>

#include "core/device.h"
#include "core/error.h"
#include "core/launch_ranks.h"
#include "core/storage.h"
#include "train/commands/run_command.h"
#include "train/io/settings.h"
#include "train/nan_watch.h"
#include "train/task/rank_shard.h"

namespace rodeo {
namespace {

/// A rank may read a large file while the others wait. One whose process has stopped is noticed earlier:
/// CommunicatorOptions::silence_seconds.
constexpr CommunicatorOptions kOptions{.timeout_seconds = 300};

/// Several ranks may notice one fault: the lowest one prints it, and ends the others before they do.
void wait_for_lower_ranks(int rank) {
  std::this_thread::sleep_for(std::chrono::milliseconds(200) * std::min(rank, 50));
}

/// Also the other ranks, which may wait for this one.
[[noreturn]] void end_ranks(const Communicator& ranks, int exit_code) {
  std::fflush(nullptr);
  ranks.abort(exit_code);
}

}  // namespace

void check_same_options(const TrainOptions& options, const Communicator& ranks) {
  TrainOptions compared = options;
  compared.device = "auto";
  const std::string text = json_text(settings_of(compared));
  check_same(std::hash<std::string>{}(text), ranks,
             "other options than rank 0: start all ranks with the same");
}

int num_ranks_to_start(const TrainOptions& options) {
  check(options.gpus == 0 || options.ranks == 0,
        "--gpus and --ranks both say how many ranks to start: leave one out");
  check(options.gpus == 0 || options.device == "auto" || options.device == "cuda",
        "--gpus needs --device cuda, got ", options.device, ": for processes on the CPU it is --ranks");
  if (options.gpus > 0 && !started_as_rank())
    check(cuda_absence_reason().empty(), "--gpus ", options.gpus, ": no GPU can be used here (",
          cuda_absence_reason(), "): --ranks ", options.gpus, " trains on processes of the CPU");
  const int count = std::max(options.gpus, options.ranks);
  return count > 1 && !started_as_rank() ? count : 1;
}

Device rank_device(const TrainOptions& options, const Communicator& ranks) {
  const int count = std::max(options.gpus, options.ranks);
  check(count == 0 || count == ranks.size(), options.gpus > 0 ? "--gpus " : "--ranks ", count,
        ", but the launcher ", "started ", ranks.size(), " ranks: leave the option out, or the launcher");
  if (options.gpus > 0 && ranks.size() == 1) return parse_device("cuda");
  if (ranks.size() == 1 || options.device == "cpu") return parse_device(options.device);
  check(options.device == "auto" || options.device == "cuda", "--device ", options.device,
        " is one device, and there ", "are ", ranks.size(),
        " ranks: auto or cuda gives each its own, cpu none");
  const bool on_gpus = options.device == "cuda" || options.gpus > 0 || parse_device("auto").is_cuda();
  return on_gpus ? ranks.gpu() : kCpu;
}

int run_command_on_ranks(std::string_view program, const std::function<void(const Communicator&)>& body) {
  std::optional<Communicator> ranks;
  bool failed = false;
  const auto run = [&] {
    ranks.emplace(kOptions);
    if (ranks->rank() > 0) check(std::freopen("/dev/null", "w", stdout) != nullptr, "cannot open /dev/null");
    try {
      body(*ranks);
    } catch (const Interrupted&) {
      throw;
    } catch (...) {
      if (ranks->size() == 1) throw;
      failed = true;
      const Failure failure = current_failure();
      wait_for_lower_ranks(ranks->rank());
      if (!claim_error_report()) end_ranks(*ranks, failure.exit_code);
      const std::string text = str("rank ", ranks->rank(), " of ", ranks->size(), ": ", failure.message);
      if (failure.exit_code == kNotFinite) throw NotFinite(text);
      if (failure.exit_code == kOutOfMemory) throw OutOfMemory(text);
      throw Error(text);
    }
  };
  const int code = run_command(program, run);
  if (failed) end_ranks(*ranks, code);
  return code;
}

}  // namespace rodeo
