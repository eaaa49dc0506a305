// --dry-run refuses what training refuses.
#include "train/commands/console_run.h"

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"
#include "train/commands/train_run.h"
#include "train/task/model_registry.h"
#include "train/task/option_table.h"

namespace rodeo::test {
namespace {

/// The text of the Error that run() throws; empty without one.
template <class Run>
std::string refusal(const Run& run) {
  testing::internal::CaptureStdout();
  std::string text;
  try {
    run();
  } catch (const Error& error) {
    text = error.what();
  }
  testing::internal::GetCapturedStdout();
  return text;
}

struct Case {
  const char* model;
  std::vector<GivenOption> given;
  bool refused = false;  // on the CPU, for a file of 24 nodes with 7 classes
  TaskKind task = TaskKind::kNode;
};

TEST(TrainDryRun, RefusesWhatTrainingRefuses) {
  const Case cases[] = {
      {"gcn", {{"spmm", "rode", ""}}},
      {"gcn", {{"spmm", "tca", ""}}, true},
      {"gin", {{"spmm", "rode-tc", ""}}, true},
      {"sage", {{"spmm", "cusparse", ""}, {"batch", "6", ""}}, true},
      {"gcn", {{"spmm-accumulate", "atomic", ""}}, true},
      {"gat", {{"attention", "composed", ""}, {"spmm", "csr", ""}}},
      {"gat", {{"attention", "composed", ""}, {"spmm", "tca", ""}}, true},
      {"gat", {{"attention", "composed", ""}, {"sddmm", "rows", ""}}, true},
      {"gin", {{"edge-features", "true", ""}}, true},
      {"gcn", {{"class-weights", "1,2", ""}}, true},
      {"gcn", {{"loss", "huber", ""}}, true},
      {"gcn", {{"batch", "6", ""}, {"fanout", "5", ""}}, true},
      {"sage", {{"batch", "6", ""}, {"aggr", "max", ""}}},
      {"gcn", {{"batch", "6", ""}, {"spmm", "tca", ""}}, true, TaskKind::kLink},
      {"gcn", {{"edge-split", "60/20/20", ""}}, false, TaskKind::kLink},
      {"gcn", {{"edge-split", "100/0/0", ""}}, true, TaskKind::kLink},
  };
  const TempDir dir;
  save_dataset(tiny_dataset(24), dir / "x.h5");
  for (const Case& c : cases) {
    TrainOptions options = published_options(c.model, c.task);
    options.dataset = dir / "x.h5";
    options.epochs = 1;
    options.hidden = 4;
    const std::string dry = refusal([&] {
      apply_options(c.given, options);
      dry_run(options, kCpu, {});
    });
    const std::string trained = refusal([&] {
      apply_options(c.given, options);
      Recorder recorder(options, /*writes=*/false);
      RunObserver observer;
      train_run({.file = options.dataset}, options, kCpu, {}, recorder, observer);
    });
    EXPECT_EQ(dry, trained) << c.model << " --" << c.given.back().name;
    EXPECT_EQ(!trained.empty(), c.refused) << c.model << " --" << c.given.back().name << ": " << trained;
  }
}

}  // namespace
}  // namespace rodeo::test
