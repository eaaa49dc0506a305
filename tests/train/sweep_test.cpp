#include "train/commands/sweep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "core/threads.h"
#include "tests/support/devices.h"
#include "tests/support/temp_dir.h"
#include "train/commands/parse_options.h"
#include "train/commands/run_command.h"
#include "train/io/atomic_file.h"
#include "train/nan_watch.h"

namespace rodeo {
namespace {

/// A sweep of which train() is a stand-in: the validation result is best at lr 0.01, the test result at the
/// largest lr, and both are better for later seeds.
class TrainSweep : public testing::Test {
 protected:
  void SetUp() override { write_file(dir_ / "d.h5", "the stand-in does not read it"); }

  SweepPlan plan(const std::string& json, std::vector<std::string> arguments = {}) {
    write_file(dir_ / "s.json", json);
    if (std::find(arguments.begin(), arguments.end(), "--device") == arguments.end())
      arguments.insert(arguments.end(), {"--device", "cpu"});
    arguments.insert(arguments.begin(), {"rodeo_train", "--sweep", dir_ / "s.json"});
    std::vector<const char*> argv;
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    const int argc = static_cast<int>(argv.size());
    TrainOptions defaults;
    defaults.choose_model = true;
    return plan_sweep(parse_train_options(argc, argv.data(), defaults),
                      [&](const auto& shared, const Trial& trial, auto& given) {
                        return parse_trial(argc, argv.data(), defaults, shared, trial, &given);
                      });
  }

  RunResult train_one(const TrainOptions& one, const RunHooks& hooks) {
    {
      const std::lock_guard lock(mutex_);
      ++runs_;
      last_ = one;
    }
    if (one.lr == 7) throw NotFinite("epoch 3: the loss is not finite");
    if (one.lr == 8) throw OutOfMemory("out of memory");
    if (one.lr == 9) throw Interrupted{SIGINT};
    if (hooks.epoch) hooks.epoch(1), hooks.epoch(2);
    RunResult result;
    result.summary.best.val =
        one.lr == 6 ? std::nan("") : 0.9 - std::fabs(one.lr - 0.01) + 0.01 * static_cast<double>(one.seed);
    result.summary.best.test = one.lr + 0.01 * static_cast<double>(one.seed);
    result.summary.best_epoch = 4;
    result.line = "a line";
    return result;
  }

  /// Runs the sweep, and returns what it prints.
  std::string run(const SweepPlan& plan) {
    runs_ = 0;
    testing::internal::CaptureStdout();
    try {
      train_sweep(plan, "rodeo_train",
                  [this](const TrainOptions& one, const RunHooks& hooks) { return train_one(one, hooks); });
    } catch (...) {
      printed_ = testing::internal::GetCapturedStdout();
      throw;
    }
    return printed_ = testing::internal::GetCapturedStdout();
  }
  std::string run(const std::string& json, const std::vector<std::string>& arguments = {}) {
    return run(plan(json, arguments));
  }

  /// Lines of the table of the best trials, without the line of names.
  std::vector<std::string> table() const {
    std::vector<std::string> lines;
    std::istringstream text(printed_.substr(printed_.find("\nval ") + 1));
    for (std::string line; std::getline(text, line) && !line.empty();) lines.push_back(line);
    return {lines.begin() + 1, lines.end()};
  }

  std::string results() const { return read_file(dir_ / "s.results.jsonl", 1 << 20); }
  std::string sweep(const std::string& parts) const {
    return str(R"({"options": {"model": "gcn", "dataset": ")", dir_ / "d.h5", R"("}, )", parts, "}");
  }
  std::string grid(const std::string& lr) const { return sweep(R"("grid": {"lr": [)" + lr + "]}"); }

  test::TempDir dir_;
  std::mutex mutex_;
  std::atomic<int> runs_{0};
  TrainOptions last_;
  std::string printed_;
};

TEST_F(TrainSweep, ValidationDecidesAndTheBestIsNamed) {
  const std::string text =
      run(sweep(R"("grid": {"hidden": [8, 16], "lr": [0.1, 0.01]})"), {"--seeds", "2", "--residual"});
  EXPECT_EQ(runs_, 8);
  EXPECT_EQ(table(), (std::vector<std::string>{"0.9050 +- 0.0071  0.0150 +- 0.0071  8       0.01",
                                               "0.9050 +- 0.0071  0.0150 +- 0.0071  16      0.01",
                                               "0.8150 +- 0.0071  0.1050 +- 0.0071  8       0.1",
                                               "0.8150 +- 0.0071  0.1050 +- 0.0071  16      0.1"}));
  EXPECT_TRUE(text.starts_with("4 trials, 8 runs; 0 of them are done, in ")) << text;
  EXPECT_NE(text.find("\n8/8  hidden 16, lr 0.01  seed 1    a line\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with(str("\nThe best trial again:\n  rodeo_train --model gcn --dataset ",
                                 dir_ / "d.h5", " --residual --seeds 2 --device cpu --hidden 8 --lr 0.01\n")))
      << text;
  EXPECT_TRUE(last_.quiet && last_.silent && last_.trunk.residual);
}

TEST_F(TrainSweep, QuietIsOneLine) {
  EXPECT_EQ(
      run(grid("0.1, 0.01, 7"), {"--quiet", "--seeds", "2"}),
      "test 0.0150 deviation 0.0071 val 0.9050 val_deviation 0.0071 runs 2 trials 3 failed 1 lr 0.01\n");
}

TEST_F(TrainSweep, AFailedTrialIsRecordedAndOthersGoOn) {
  const std::string json = sweep(
      R"("grid": {"lr": [7, 0.01, 8, 6], "layers": [2, 3]}, "random": {"hidden": [0, 16]}, "trials": 20)");
  run(json);
  EXPECT_EQ(runs_, 8) << "hidden 0 is no value";
  EXPECT_EQ(table().size(), 2u);
  const std::string wrong = dir_ / "s.json" + ": --hidden must be an integer of at least 1, got '0'\n";
  for (const std::string& line :
       {std::string("\n14 of 16 trials failed; the first 10:\n"),
        std::string("\n  lr 7, layers 2, hidden 16: epoch 3: the loss is not finite\n"),
        "\n  lr 0.01, layers 3, hidden 0: " + wrong})
    EXPECT_NE(printed_.find(line), std::string::npos) << line << " is not in\n" << printed_;
  // A failure of the options or of memory may be gone in the next call.
  run(json);
  EXPECT_EQ(runs_, 2) << "lr 8, which was out of memory";
  std::map<int, int> codes;
  std::istringstream lines(results());
  for (std::string line; std::getline(lines, line);)
    if (const auto json_line = nlohmann::json::parse(line); json_line.contains("failed"))
      ++codes[json_line["exit_code"].get<int>()];
  EXPECT_EQ(codes, (std::map<int, int>{{kFailed, 8}, {kNotFinite, 4}, {kOutOfMemory, 4}}));
}

TEST_F(TrainSweep, WithoutAnyResultItFails) {
  EXPECT_ERROR(run(grid("7, 6")), "no trial has a result; the first one: epoch 3: the loss is not finite");
  EXPECT_ERROR(run(grid("-1, 0")), dir_ / "s.json" + ": --lr must be a number above 0, got '-1'");
  EXPECT_ERROR(run(sweep(R"("grid": {"lrr": [1]})")), dir_ / "s.json" + ": unknown key 'lrr'; see --help");
  EXPECT_ERROR(run(R"({"options": {"model": "gcn"}, "grid": {"lr": [0.1]}})"),
               "--dataset FILE is required; see --help");
  std::filesystem::remove(dir_ / "d.h5");
  EXPECT_ERROR(run(grid("0.1")), dir_ / "d.h5" + ": no such file");
}

TEST_F(TrainSweep, GoesOnWithTheMissingRuns) {
  const std::vector<std::string> seeds = {"--seeds", "2"};
  run(grid("0.1, 0.01"), seeds);
  const auto first = table();
  const std::string whole = results();
  const std::size_t third = whole.find('\n', whole.find("\"seed\":1")) + 1;
  write_file(dir_ / "s.results.jsonl", whole.substr(0, third + 20));  // killed while it wrote
  const std::string text = run(grid("0.1, 0.01"), seeds);
  EXPECT_EQ(runs_, 2);
  EXPECT_EQ(table(), first);
  EXPECT_TRUE(text.starts_with("2 trials, 4 runs; 2 of them are done, in ")) << text;
  const std::string now = results();
  EXPECT_EQ(std::count(now.begin(), now.end(), '\n'), 5) << now;

  run(grid("0.1, 0.01"), {"--seeds", "3"});
  EXPECT_EQ(runs_, 2) << "a seed more";
  run(grid("0.1, 0.01, 0.02"), {"--seeds", "3", "--parallel", "2", "--threads", "2"});
  EXPECT_EQ(runs_, 3) << "a trial more";
  EXPECT_NE(run(grid("0.1"), seeds).find("\n7 other results there are of trials that "), std::string::npos);
  EXPECT_EQ(runs_, 0);
}

TEST_F(TrainSweep, AnInterruptionKeepsWhatIsDone) {
  EXPECT_THROW(run(grid("0.1, 9, 0.01")), Interrupted);
  EXPECT_EQ(runs_, 2);
  EXPECT_NE(printed_.find("\nstopped with 1 of 3 runs in "), std::string::npos) << printed_;
  EXPECT_THROW(run(grid("0.1, 9, 0.01")), Interrupted);
  EXPECT_EQ(runs_, 1);
}

TEST_F(TrainSweep, AChangedSweepIsNoticed) {
  run(grid("0.1"), {"--epochs", "5"});
  EXPECT_ERROR(run(grid("0.1"), {"--epochs", "6"}),
               dir_ / "s.results.jsonl" +
                   ": is of trials with --epochs 5, and these have --epochs 6: delete the file, or name "
                   "another with --sweep-results");
  run(grid("0.1"), {"--epochs", "6", "--sweep-results", dir_ / "other.jsonl"});
  EXPECT_EQ(runs_, 1);
  run(grid("0.1"), {"--epochs", "5", "--quiet", "--parallel", "2", "--threads", "1", "--seed", "3"});
  EXPECT_EQ(runs_, 1) << "the other seed, and no new file";
}

TEST_F(TrainSweep, TheCommandLineOverridesWhatIsSharedOnly) {
  run(sweep(R"("grid": {"lr": [0.1]})"), {"--model", "sage"});
  EXPECT_EQ(last_.model, "sage");
  EXPECT_ERROR(run(grid("0.1"), {"--lr", "0.2"}), str("--lr is on the command line, and ", dir_ / "s.json",
                                                      " tries values of it: leave one of them out"));
  write_file(dir_ / "c.json", R"({"lr": 0.3, "hidden": 5, "epochs": 9})");
  run(grid("0.1, 0.01"), {"--config", dir_ / "c.json", "--hidden", "6", "--sweep-results", dir_ / "o.jsonl"});
  EXPECT_EQ(last_.hidden, 6);
  EXPECT_EQ(last_.epochs, 9);
  EXPECT_NE(printed_.find(str("rodeo_train --config ", dir_ / "c.json", " --hidden 6 --model gcn --dataset ",
                              dir_ / "d.h5", " --device cpu --lr 0.01\n")),
            std::string::npos)
      << printed_;
  EXPECT_ERROR(plan(grid("0.1"), {"--print-config"}),
               "--print-config prints the options of one run: not with --sweep");
  EXPECT_ERROR(plan(grid("0.1"), {"--ranks", "2"}),
               "--sweep trains in one process: not with --gpus and --ranks; --parallel trains several at a "
               "time");
  EXPECT_ERROR(plan(grid("0.1"), {"--export", "w"}),
               "--export is for one run: not with --sweep. --log appends all runs to one file");
  EXPECT_ERROR(plan(grid("0.1"), {"--hiden", "3"}), "unknown option '--hiden': did you mean --hidden?");
}

TEST_F(TrainSweep, ModelsAndFlagsAreValuesToo) {
  const std::string json = str(R"({"options": {"dataset": ")", dir_ / "d.h5", R"("}, "grid": {"model":
                                ["gcn", "gat"], "heads": [4], "residual": [true, false]}})");
  const SweepPlan sweep = plan(json);
  ASSERT_EQ(sweep.options.size(), 4u);
  EXPECT_EQ(sweep.first, 2u);
  EXPECT_EQ(sweep.failures[0], dir_ / "s.json" + ": unknown key 'heads'; see --help");
  EXPECT_EQ(sweep.options[2].heads, 4);
  EXPECT_EQ(sweep.options[2].lr, 0.005) << "the default of gat";
  EXPECT_TRUE(sweep.options[2].trunk.residual);
  EXPECT_EQ(command_of_trial(sweep, 2, "a b", 1),
            str("'a b' --dataset ", dir_ / "d.h5", " --device cpu --model gat --heads 4 --residual"));
  EXPECT_EQ(command_of_trial(sweep, 3, "t", 1),
            str("t --dataset ", dir_ / "d.h5", " --device cpu --model gat --heads 4 --residual=false"));
  EXPECT_EQ(describe_sweep(sweep),
            str("4 trials, results in ", dir_ / "s.results.jsonl", "\n  model gcn, heads 4, residual true: ",
                sweep.failures[0], "\n  model gcn, heads 4, residual false: ", sweep.failures[1],
                "\n  model gat, heads 4, residual true\n  model gat, heads 4, residual false\n"));
}

TEST_F(TrainSweep, RunsBesideEachOtherGiveTheSameTable) {
  run(grid("0.1, 0.01, 0.02, 0.05"), {"--seeds", "3"});
  const auto table_of_one = table();
  std::filesystem::remove(dir_ / "s.results.jsonl");
  const std::string text =
      run(grid("0.1, 0.01, 0.02, 0.05"), {"--seeds", "3", "--parallel", "3", "--threads", "6"});
  EXPECT_EQ(runs_, 12);
  EXPECT_EQ(table(), table_of_one);
  const std::string threads =
      " --seeds 3 --device cpu --lr 0.01 --threads " + std::to_string(std::max(1, num_threads() / 3)) + "\n";
  EXPECT_TRUE(text.ends_with(threads)) << text;
}

TEST_F(TrainSweep, FoldsAreRuns) {
  const std::string json = str(R"({"options": {"model": "gin", "task": "graph", "folds": 3, "dataset": ")",
                               dir_ / "d.h5", R"("}, "grid": {"lr": [0.1, 0.01]}})");
  run(json);
  EXPECT_EQ(runs_, 6);
  run(json);
  EXPECT_EQ(runs_, 0);
}

TEST_F(TrainSweep, ThePlotHasAChartForEachOption) {
  run(sweep(R"("grid": {"lr": [0.1, 0.01, 0.001, 7], "act": ["relu", "<b>"], "norm": ["none", "batch"]})"),
      {"--sweep-plot", dir_ / "s.svg"});
  const std::string svg = read_file(dir_ / "s.svg", 1 << 20);
  const auto count = [&](std::string_view what) {
    int n = 0;
    for (std::size_t at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("r=\"2\""), 3 * 6) << "trials that have a result, in each chart";
  for (const char* text : {">lr</text>", ">act</text>", ">relu</text>", ">batch</text>", ">0.001</text>",
                           ">0.1</text>", ">best trial</text>"})
    EXPECT_GE(count(text), 1) << text;
  EXPECT_EQ(count("nan"), 0);
  EXPECT_ERROR(run(grid("0.1"), {"--sweep-plot", dir_ / "none/s.svg"}),
               dir_ / "none/s.svg" + ": cannot be written: no such folder");
}

TEST_F(TrainSweep, ManyTrialsAreNotAllPrinted) {
  // Two of the draws are alike.
  run(sweep(R"("random": {"lr": {"log-uniform": [0.0001, 1]}}, "trials": 31)"));
  EXPECT_EQ(table().size(), 21u);
  EXPECT_EQ(table().back(), "and 10 more, in " + dir_ / "s.results.jsonl");
}

TEST(TrainSweepOptions, NeedEachOther) {
  const auto parse = [](std::vector<const char*> argv) {
    argv.insert(argv.begin(), "rodeo_train");
    TrainOptions defaults;
    defaults.choose_model = true;
    return parse_train_options(static_cast<int>(argv.size()), argv.data(), defaults);
  };
  EXPECT_ERROR(parse({"--model", "gcn", "--dataset", "x", "--sweep-plot", "p.svg"}),
               "--sweep-plot is for a sweep: give --sweep FILE too");
  EXPECT_ERROR(parse({"--model", "gcn", "--dataset", "x", "--sweep-results", "r"}),
               "--sweep-results is for a sweep: give --sweep FILE too");
  EXPECT_ERROR(parse({"--sweep"}), "--sweep needs a value");
  EXPECT_ERROR(parse({"--sweep", "--dataset"}), "--sweep needs a value");
  const TrainOptions options = parse({"--sweep=s.json", "--dry-run"});
  EXPECT_EQ(options.sweep, "s.json");
  EXPECT_TRUE(options.dry_run);
}

}  // namespace
}  // namespace rodeo
