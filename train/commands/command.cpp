#include "train/commands/command.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/context.h"
#include "core/launch_ranks.h"
#include "core/quoting.h"
#include "train/commands/console_run.h"
#include "train/commands/parse_options.h"
#include "train/commands/run_command.h"
#include "train/commands/run_on_ranks.h"
#include "train/task/memory_estimate.h"

namespace rodeo {
namespace {

/// Adds advice to out-of-memory errors and to losses that are not finite.
template <class Work>
void with_advice(const TrainOptions& options, Device device, Work&& work) {
  try {
    work();
  } catch (const OutOfMemory& error) {
    throw OutOfMemory(str(error.what(), "; try ", memory_advice(options, device.is_cuda())));
  } catch (const NotFinite& error) {
    throw NotFinite(
        str(error.what(), options.debug ? "" : ", --clip-norm, or --debug to see which kernel it is"));
  }
}

void run(const TrainOptions& options, const Communicator& ranks) {
  if (ranks.size() > 1) check_same_options(options, ranks);
  const RunSettings settings(options);
  check(options.parallel == 1 || is_repeated(options),
        "--parallel is for several runs: with --seeds, --splits all or folds");
  check(ranks.size() == 1 || options.parallel == 1,
        "--parallel trains several runs on one device, and there are ", ranks.size(), " ranks: leave it out");
  RunBoard board(options, runs_of(options), /*prints=*/ranks.rank() == 0);
  if (options.dry_run) {
    const Device device = rank_device(options, ranks);
    return with_advice(options, device, [&] { dry_run(board.runs()[0].options, device, ranks); });
  }
  std::vector<std::unique_ptr<Recorder>> recorders;  // all before the first run: each may find a fault
  for (const PlannedRun& run : board.runs())
    recorders.push_back(std::make_unique<Recorder>(run.options, /*writes=*/ranks.rank() == 0));
  board.train([&](std::size_t i) {
    const std::unique_ptr<Recorder> recorder = std::move(recorders[i]);
    const TrainOptions& one = board.runs()[i].options;
    RunResult result;
    try {
      const Device device = rank_device(options, ranks);
      with_advice(options, device, [&] {
        ConsoleRun console(board, i, device);
        result = console.finish(train_run({.file = options.dataset}, one, device, ranks, *recorder, console),
                                *recorder);
      });
    } catch (...) {
      const Failure failure = current_failure();
      recorder->failed(failure.message, failure.exit_code);
      throw;
    }
    return result;
  });
}

}  // namespace

int train_command(int argc, const char* const* argv, const TrainOptions& defaults,
                  const std::vector<std::string>& starter) {
  const std::string program = defaults.choose_model ? "rodeo_train" : str("train_", defaults.model);
  int count = 1;
  std::optional<TrainOptions> parsed;  // a rank parses later, so that one message names it
  const int code = run_command(program, [&] {
    if (started_as_rank()) return;
    parsed = parse_train_options(argc, argv, defaults);
    if (parsed->notice.empty()) count = num_ranks_to_start(*parsed);
  });
  if (code != kDone) return code;
  if (count > 1 && starter.empty()) return launch_ranks(count, const_cast<char**>(argv));
  if (count > 1) {
    std::vector<std::string> words = starter;
    words.insert(words.end(), argv + 1, argv + argc);
    return launch_ranks(count, words);
  }
  return run_command_on_ranks(program, [&](const Communicator& ranks) {
    if (!parsed) parsed = parse_train_options(argc, argv, defaults);
    const TrainOptions& options = *parsed;
    for (const std::string& warning : options.warnings)
      if (ranks.rank() == 0) std::fputs(str(program, ": ", printable(warning), "\n").c_str(), stderr);
    if (!options.notice.empty())
      fmt::print("{}", options.notice);
    else
      run(options, ranks);
  });
}

}  // namespace rodeo
