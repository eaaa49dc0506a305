#include "train/commands/repeat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <set>
#include <thread>

#include "core/device.h"
#include "core/error.h"
#include "core/text.h"
#include "core/threads.h"
#include "datasets/dataset.h"
#include "train/commands/run_command.h"
#include "train/task/model_registry.h"
#include "train/task/option_table.h"

namespace rodeo {
namespace {

bool has_folds(const TrainOptions& options) {
  return options.task == TaskKind::kGraph && options.fold < 0;
}

/// The values of --split: those of --splits all, else options.split alone.
std::vector<std::string> splits_of(const TrainOptions& options) {
  check(!options.all_splits || options.split.empty(),
        "--splits all trains on all splits of the file, and --split ", options.split,
        " is given, on the command line or in a file: leave one of them out");
  if (!options.all_splits) return {options.split};
  const std::size_t count = load_dataset(options.dataset, {.all_splits = true}).splits.size();
  check(count >= 1, options.dataset, ": --splits all needs masks, and the file has none");
  std::vector<std::string> all;
  for (std::size_t k = 0; k < count; ++k) all.push_back(std::to_string(k));
  return all;
}

/// The text of an option that names a file or folder of a run; empty if it is not given.
std::string file_of(const TrainOption& row, const TrainOptions& options) {
  if (!row.is(OptionFlag::kOneRun) && row.name != "log") return {};
  const OptionValue value = row.get(options);
  const auto* file = std::get_if<std::string>(&value);
  return file ? *file : std::string();
}

std::string replaced(std::string text, std::string_view word, const std::string& by) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + by.size()))
    text.replace(at, word.size(), by);
  return text;
}

/// Throws Error for output that several of the runs would share. `words`: those that tell the runs apart.
void check_outputs(const std::vector<TrainOption>& table, const TrainOptions& o,
                   const std::vector<PlannedRun>& runs, const std::string& words) {
  for (const TrainOption& row : table) {
    if (const std::string file = file_of(row, o); !file.empty()) {
      std::set<std::string> files;
      for (const PlannedRun& run : runs) files.insert(file_of(row, run.options));
      const bool appended = row.name == "log" && o.parallel == 1;
      check(appended || files.size() == runs.size(), "--", row.name, " ", file, " is of ", runs.size(),
            " runs: put ", words, " into its name, so that each has its own");
    } else if (row.is(OptionFlag::kOneRun) && !(row.is(OptionFlag::kLogged) && !o.log.empty())) {
      check(row.get(o) == row.default_value, "--", row.name, " is for one run: ",
            has_folds(o) ? str("give --fold K, or leave it out for all ", o.folds, " folds")
                         : str("not with --seeds and --splits"));
    }
  }
}

/// Mean and deviation of results. deviation: of a sample, n - 1; 0 for fewer than two values.
struct Spread {
  double mean = 0, deviation = 0;
};

Spread spread(const std::vector<double>& values) {
  Spread of;
  const auto n = static_cast<double>(values.size());
  for (const double v : values) of.mean += v / n;
  for (const double v : values) of.deviation += (v - of.mean) * (v - of.mean);
  of.deviation = values.size() > 1 ? std::sqrt(of.deviation / (n - 1)) : 0;
  return of;
}

/// "0.8150 +- 0.0070"; of a single value "0.8150".
std::string format_spread(const std::vector<double>& values) {
  const Spread of = spread(values);
  return fmt::format("{:.4f}", of.mean) + (values.size() > 1 ? fmt::format(" +- {:.4f}", of.deviation) : "");
}

}  // namespace

bool is_repeated(const TrainOptions& options) {
  return options.seeds > 1 || options.all_splits || has_folds(options);
}

std::vector<PlannedRun> runs_of(const TrainOptions& options) {
  const bool folds = has_folds(options);
  const std::vector<TrainOption> table = option_table(published_options(options.model, options.task));
  std::vector<PlannedRun> runs;
  for (const std::string& split : splits_of(options))
    for (int s = 0; s < options.seeds; ++s)
      for (int fold = 0; fold < (folds ? options.folds : 1); ++fold) {
        PlannedRun run{options, ""};
        TrainOptions& one = run.options;
        one.split = split;
        one.seed = options.seed + static_cast<std::uint64_t>(s);
        if (folds) one.fold = fold;
        one.seeds = 1;
        one.all_splits = false;
        one.parallel = 1;
        for (const TrainOption& row : table)
          if (std::string file = file_of(row, one); !file.empty()) {
            file = replaced(file, "{seed}", std::to_string(one.seed));
            if (options.all_splits) file = replaced(file, "{split}", split);
            row.set(one, folds ? replaced(file, "{fold}", std::to_string(fold)) : file);
          }
        if (options.all_splits) run.name += fmt::format("split {:<3} ", split);
        if (options.seeds > 1 || !folds) run.name += fmt::format("seed {:<4} ", one.seed);
        if (folds) run.name += fmt::format("fold {:<3} ", fold);
        runs.push_back(std::move(run));
      }
  if (runs.size() == 1)
    runs[0].name.clear();
  else
    check_outputs(
        table, options, runs,
        str(options.all_splits ? "{split}" : "", options.all_splits && options.seeds > 1 ? " and " : "",
            options.seeds > 1 ? "{seed}" : "", folds && options.seeds > 1 ? " and " : "",
            folds ? "{fold}" : ""));
  return runs;
}

int threads_of_a_run(const TrainOptions& options, std::size_t count) {
  if (parse_device(options.device).is_cuda()) return num_threads();
  return std::max(1, num_threads() / std::min(options.parallel, static_cast<int>(count)));
}

RunBoard::RunBoard(const TrainOptions& options, std::vector<PlannedRun> runs, bool prints)
    : options_(options), runs_(std::move(runs)), results_(runs_.size()), console_(options.quiet, prints) {}

void RunBoard::watch_signals() {
  // What a signal waits for.
  if (!signals_) signals_.emplace(options_.batch > 0 ? "batch" : "epoch");
}

void RunBoard::epoch(std::size_t run, const EpochReport& report) {
  constexpr int kAlone = 2;  // which choose the SpMM kernels of training and evaluation by timing
  if (run == 0 && report.epoch >= kAlone) begin_others();
  const std::lock_guard lock(mutex_);
  if (run == printed_) console_.epoch(report, runs_[run].name);
}

void RunBoard::batch(std::size_t run, int epoch, int epochs, int batch, int batches) {
  const std::lock_guard lock(mutex_);
  if (run == printed_) console_.batch(runs_[run].name, epoch, epochs, batch, batches);
}

void RunBoard::add(std::size_t run, RunResult result) {
  const std::lock_guard lock(mutex_);
  results_[run] = std::move(result);
  for (; printed_ < runs_.size() && results_[printed_]; ++printed_)
    if (has_several())
      console_.result(runs_[printed_].name + results_[printed_]->line +
                      (results_[printed_]->summary.stopped ? " (stopped, not counted below)" : ""));
}

std::vector<const RunResult*> RunBoard::ended(std::size_t begin, std::size_t end) const {
  std::vector<const RunResult*> of;
  for (std::size_t i = begin; i < end; ++i)
    if (results_[i] && !results_[i]->summary.stopped) of.push_back(&*results_[i]);
  return of;
}

void RunBoard::print_results() const {
  const std::vector<const RunResult*> all = ended(0, runs_.size());
  if (!has_several() || all.empty()) return;
  const auto values = [](const std::vector<const RunResult*>& of, double Evaluation::*part) {
    std::vector<double> out;
    for (const RunResult* result : of) out.push_back(result->summary.best.*part);
    return out;
  };
  const std::string& metric = all.front()->metric;
  if (options_.quiet) {
    const auto pair = [&](const char* name, double Evaluation::*part, const char* deviation) {
      const Spread of = spread(values(all, part));
      return fmt::format("{} {:.4f} ", name, of.mean) +
             (all.size() > 1 ? fmt::format("{} {:.4f} ", deviation, of.deviation) : "");
    };
    fmt::print("{}{}runs {} metric {}\n", pair("test", &Evaluation::test, "deviation"),
               pair("val", &Evaluation::val, "val_deviation"), all.size(), metric);
    return print_notes(all);
  }
  fmt::print("\n");
  const auto line = [&](const std::string& runs, const std::vector<const RunResult*>& of, const char* after) {
    if (!of.empty())
      fmt::print("{}: test {} {}, val {}{}\n", runs, metric, format_spread(values(of, &Evaluation::test)),
                 format_spread(values(of, &Evaluation::val)), after);
  };
  // The runs of a split are next to each other.
  const bool by_split = options_.seeds > 1 && runs_.front().options.split != runs_.back().options.split;
  for (std::size_t begin = 0, end = 0; by_split && begin < runs_.size(); begin = end) {
    const std::string& split = runs_[begin].options.split;
    while (end < runs_.size() && runs_[end].options.split == split) ++end;
    const auto of = ended(begin, end);
    line(fmt::format("split {:<3} {}", split, count_of(std::ssize(of), "seed")), of, "");
  }
  line(all.size() == runs_.size() ? count_of(std::ssize(all), "run")
                                  : fmt::format("{} of {} runs", all.size(), runs_.size()),
       all,
       all.size() > 1 ? " (mean +- standard deviation, at each run's best validation epoch)"
                      : " (at its best validation epoch)");
  print_notes(all);
}

void RunBoard::print_notes(const std::vector<const RunResult*>& results) const {
  std::vector<std::pair<Note, int>> counts;
  for (const RunResult* result : results)
    for (const Note& note : result->notes) {
      const auto known = std::find_if(counts.begin(), counts.end(), [&](const auto& entry) {
        return entry.first.what == note.what && entry.first.advice == note.advice;
      });
      if (known == counts.end())
        counts.emplace_back(note, 1);
      else
        ++known->second;
    }
  for (const auto& [note, count] : counts)
    console_.say("note", fmt::format("{} of {} runs {}. {}", count, results.size(), note.what, note.advice));
}

void RunBoard::begin_others() {
  begun_ = true;
  begun_.notify_all();
}

void RunBoard::work(const TrainOne& train) {
  for (std::size_t i = next_++; i < runs_.size() && !failed_; i = next_++) {
    try {
      RunResult result = train(i);
      const bool stopped = result.summary.stopped;
      add(i, std::move(result));
      // With several ranks another one may have got the signal.
      if (stopped) throw Interrupted{signal() != 0 ? signal() : SIGINT};
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      failed_ = true;
    }
    if (i == 0) begin_others();
  }
}

void RunBoard::train(const TrainOne& train) {
  if (options_.parallel > 1) {
    const int threads = threads_of_a_run(options_, runs_.size());
    std::vector<std::jthread> workers;
    for (std::size_t t = 0; t < std::min(static_cast<std::size_t>(options_.parallel), runs_.size()); ++t)
      workers.emplace_back([&, t] {
        set_num_threads(threads);
        if (t > 0) begun_.wait(false);
        work(train);
      });
  } else {
    work(train);
  }
  print_results();
  if (error_) std::rethrow_exception(error_);
}

}  // namespace rodeo
