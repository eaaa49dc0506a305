#include "train/commands/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "core/quoting.h"
#include "train/commands/run_command.h"
#include "train/io/atomic_file.h"
#include "train/io/sweep_results.h"
#include "train/nan_watch.h"
#include "train/report/spread.h"
#include "train/report/sweep_report.h"

namespace rodeo {
namespace {

using Clock = std::chrono::steady_clock;

/// What results depend on, beside the trial and the run.
SweepResults::Shared identity_of(const SweepPlan& plan) {
  constexpr std::string_view kFree[] = {"device", "threads", "parallel", "quiet",
                                        "seed",   "seeds",   "splits",   "log"};
  SweepResults::Shared shared;
  for (const GivenOption& option : plan.given)
    if (std::find(std::begin(kFree), std::end(kFree), option.name) == std::end(kFree))
      shared[option.name] = option.text;
  return shared;
}

struct Job {
  std::size_t trial;
  PlannedRun planned;
  SweepRun run;
};

std::vector<Job> jobs_of(const SweepPlan& plan) {
  const std::vector<std::string> splits = splits_to_run(plan.common());
  std::vector<Job> jobs;
  for (std::size_t t = 0; t < plan.options.size(); ++t) {
    if (!plan.failures[t].empty()) continue;
    const TrainOptions& options = plan.options[t];
    for (PlannedRun& planned : runs_of(options, splits)) {
      const TrainOptions& one = planned.options;
      SweepRun run{plan.sweep.trials[t], one.seed, options.all_splits ? one.split : "",
                   options.task == TaskKind::kGraph ? one.fold : -1};
      jobs.push_back({t, std::move(planned), std::move(run)});
    }
  }
  return jobs;
}

/// Trials without runs, because their options exclude each other, have one line of results. Returns their
/// number.
std::size_t record_wrong_trials(const SweepPlan& plan, SweepResults& results) {
  std::size_t wrong = 0;
  for (std::size_t t = 0; t < plan.options.size(); ++t) {
    if (plan.failures[t].empty()) continue;
    const SweepRun run{plan.sweep.trials[t], plan.common().seed, "", -1};
    SweepOutcome outcome;
    outcome.failure = printable(plan.failures[t]);
    outcome.exit_code = kFailed;
    const SweepOutcome* before = results.find(run);
    if (!before || before->failure != outcome.failure) results.add(run, outcome);
    ++wrong;
  }
  return wrong;
}

/// A run that failed for want of memory or of a file may succeed now.
bool is_to_run(const SweepOutcome* outcome) {
  return !outcome || (!outcome->failure.empty() && outcome->exit_code != kNotFinite);
}

SweepOutcome train_job(const Job& job, const RunHooks& hooks, const TrainOne& train, std::string& line) {
  SweepOutcome outcome;
  const auto begin = Clock::now();
  try {
    const RunResult result = train(job.planned.options, hooks);
    outcome.best = result.summary.best;
    outcome.best_epoch = result.summary.best_epoch;
    outcome.epochs = result.summary.epochs;
    line = result.line;
    if (!std::isfinite(outcome.best.val)) throw NotFinite("the validation result is not finite");
  } catch (const Interrupted&) {
    throw;
  } catch (...) {
    const Failure failure = current_failure();
    outcome.failure = printable(failure.message);
    outcome.exit_code = failure.exit_code;
    line = "failed: " + outcome.failure;
  }
  outcome.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return outcome;
}

std::vector<TrialResult> results_of(const SweepPlan& plan, const std::vector<Job>& jobs,
                                    const SweepResults& results) {
  std::vector<TrialResult> trials;
  for (std::size_t t = 0; t < plan.options.size(); ++t)
    trials.push_back({texts_of(plan.sweep.trials[t]), {}, {}, plan.failures[t]});
  for (const Job& job : jobs) {
    const SweepOutcome* outcome = results.find(job.run);
    TrialResult& trial = trials[job.trial];
    if (!outcome->failure.empty()) {
      if (trial.failure.empty()) trial.failure = outcome->failure;
      continue;
    }
    trial.val.push_back(outcome->best.val);
    trial.test.push_back(outcome->best.test);
  }
  return trials;
}

void print_failures(const SweepPlan& plan, const std::vector<TrialResult>& trials, std::size_t failed) {
  if (failed == 0) return;
  constexpr std::size_t kMost = 10;
  fmt::print("\n{} of {} trials failed{}:\n", failed, trials.size(),
             failed > kMost ? fmt::format("; the first {}", kMost) : "");
  std::size_t printed = 0;
  for (const TrialResult& trial : trials)
    if (!trial.failure.empty() && printed++ < kMost)
      fmt::print("  {}: {}\n", describe_trial(plan.sweep.names, trial.values), printable(trial.failure));
}

void print_results(const SweepPlan& plan, const std::string& program, int threads,
                   const std::vector<TrialResult>& trials, const std::vector<std::size_t>& order) {
  const TrialResult& best = trials[order[0]];
  const std::vector<std::string>& names = plan.sweep.names;
  const std::size_t failed = trials.size() - order.size();
  if (plan.common().quiet) {
    const Spread val = spread(best.val), test = spread(best.test);
    fmt::print("test {:.4f} deviation {:.4f} val {:.4f} val_deviation {:.4f} runs {} trials {} failed {}",
               test.mean, test.deviation, val.mean, val.deviation, best.val.size(), trials.size(), failed);
    for (std::size_t i = 0; i < names.size(); ++i) fmt::print(" {} {}", names[i], printable(best.values[i]));
    fmt::print("\n");
    return;
  }
  constexpr std::size_t kMost = 20;
  fmt::print("\n{}", format_trials(names, trials, order, kMost));
  if (order.size() > kMost) fmt::print("and {} more, in {}\n", order.size() - kMost, plan.results);
  print_failures(plan, trials, failed);
  fmt::print("\nThe best trial again:\n  {}\n", command_of_trial(plan, order[0], program, threads));
}

}  // namespace

void train_sweep(const SweepPlan& plan, const std::string& program, const TrainOne& train) {
  const TrainOptions& common = plan.common();
  // No failure of the trials, which would be recorded.
  check(std::filesystem::exists(common.dataset), common.dataset, ": no such file");
  std::optional<AtomicFile> plot;
  if (!plan.plot.empty()) plot.emplace(plan.plot);
  SweepResults results(plan.results, identity_of(plan));
  std::size_t known = record_wrong_trials(plan, results);
  const std::vector<Job> jobs = jobs_of(plan);
  std::vector<const Job*> missing;
  for (const Job& job : jobs) {
    known += results.find(job.run) != nullptr;
    if (is_to_run(results.find(job.run))) missing.push_back(&job);
  }
  if (!common.quiet) {
    fmt::print("{} trials, {} runs; {} of them are done, in {}\n", plan.options.size(), jobs.size(),
               jobs.size() - missing.size(), plan.results);
    if (results.size() > known)
      fmt::print("{} other results there are of trials that {} does not have\n", results.size() - known,
                 plan.sweep.file);
  }

  std::size_t done = jobs.size() - missing.size();
  const int threads = threads_of_a_run(common, jobs.size());
  std::mutex mutex;
  try {
    run_in_parallel(missing.size(), common.parallel, threads, [&](std::size_t i, const RunHooks& hooks) {
      const Job& job = *missing[i];
      std::string line;
      const SweepOutcome outcome = train_job(job, hooks, train, line);
      const std::lock_guard lock(mutex);
      results.add(job.run, outcome);
      ++done;
      if (common.quiet) return;
      fmt::print("{}/{}  {}  {}{}\n", done, jobs.size(),
                 describe_trial(plan.sweep.names, texts_of(job.run.trial)), job.planned.name, line);
      std::fflush(stdout);
    });
  } catch (const Interrupted&) {
    if (!common.quiet)
      fmt::print("stopped with {} of {} runs in {}: the same command goes on\n", done, jobs.size(),
                 plan.results);
    throw;
  }

  const std::vector<TrialResult> trials = results_of(plan, jobs, results);
  const std::vector<std::size_t> order = rank_trials(trials);
  if (order.empty()) fail("no trial has a result; the first one: ", trials[plan.first].failure);
  print_results(plan, program, threads, trials, order);
  if (!plot) return;
  plot->write(draw_trials(plan.sweep.names, trials, order));
  plot->commit();
}

}  // namespace rodeo
