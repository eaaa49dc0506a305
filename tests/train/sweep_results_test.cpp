#include "train/io/sweep_results.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "tests/support/devices.h"
#include "tests/support/temp_dir.h"
#include "train/io/atomic_file.h"

namespace rodeo {
namespace {

using test::TempDir;
const SweepResults::Shared kShared = {{"epochs", "5"}, {"model", "gcn"}};

SweepRun run(const std::string& lr, std::uint64_t seed = 0) {
  return {{{"lr", lr, "s.json"}, {"act", "elu", "s.json"}}, seed, "", -1};
}

SweepOutcome outcome(double val) {
  SweepOutcome of;
  of.best = {0.9, val, 0.8, 1.25};
  of.best_epoch = 4;
  of.epochs = 5;
  of.seconds = 0.5;
  return of;
}

TEST(TrainSweepResults, AreFoundByTheNextCall) {
  const TempDir dir;
  const std::string path = dir / "r.jsonl";
  {
    SweepResults results(path, kShared);
    EXPECT_EQ(results.find(run("0.1")), nullptr);
    results.add(run("0.1"), outcome(0.7));
    results.add(run("0.1", 1), outcome(std::nan("")));
    SweepOutcome failed;
    failed.failure = "out of \"memory\"";
    failed.exit_code = 4;
    results.add(run("0.2"), failed);
  }
  SweepResults results(path, kShared);
  EXPECT_EQ(results.size(), 3u);
  ASSERT_NE(results.find(run("0.1")), nullptr);
  const SweepOutcome& read = *results.find(run("0.1"));
  EXPECT_EQ(read.best.val, 0.7);
  EXPECT_EQ(read.best.test, 0.8);
  EXPECT_EQ(read.best.val_loss, 1.25);
  EXPECT_EQ(read.best_epoch, 4);
  EXPECT_EQ(read.failure, "");
  ASSERT_NE(results.find(run("0.1", 1)), nullptr);
  EXPECT_TRUE(std::isnan(results.find(run("0.1", 1))->best.val));
  ASSERT_NE(results.find(run("0.2")), nullptr);
  EXPECT_EQ(results.find(run("0.2"))->failure, "out of \"memory\"");
  EXPECT_EQ(results.find(run("0.2"))->exit_code, 4);

  SweepRun other = run("0.1");
  std::reverse(other.trial.begin(), other.trial.end());
  EXPECT_NE(results.find(other), nullptr) << "the order of options matters";
  other.split = "1";
  EXPECT_EQ(results.find(other), nullptr);
  other.split = "", other.fold = 0;
  EXPECT_EQ(results.find(other), nullptr);
}

TEST(TrainSweepResults, ALineThatIsCutOffIsRemoved) {
  const TempDir dir;
  const std::string path = dir / "r.jsonl";
  {
    SweepResults results(path, kShared);
    results.add(run("0.1"), outcome(0.7));
    results.add(run("0.2"), outcome(0.6));
  }
  const std::string whole = read_file(path, 1 << 20);
  const std::size_t second = whole.find('\n', whole.find('\n') + 1) + 1;
  for (std::size_t end = 0; end < whole.size(); end += end < 12 ? 1 : 7) {
    SCOPED_TRACE(end);
    write_file(path, whole.substr(0, end));
    SweepResults results(path, kShared);
    EXPECT_EQ(results.size(), end >= second ? 1u : 0u);
    results.add(run("0.2"), outcome(0.6));
    const std::string now = read_file(path, 1 << 20);
    EXPECT_EQ(std::count(now.begin(), now.end(), '\n'), end >= second ? 3 : 2);
  }
  EXPECT_EQ(read_file(path, 1 << 20), whole);
}

TEST(TrainSweepResults, OtherFilesStayAsTheyAre) {
  const TempDir dir;
  const std::string path = dir / "r.jsonl";
  const auto expect = [&](const std::string& contents, int line) {
    write_file(path, contents);
    EXPECT_ERROR(SweepResults(path, kShared),
                 str(path, ":", line,
                     ": is no result of a sweep: delete the file, or name another with --sweep-results"));
    EXPECT_EQ(read_file(path, 1 << 20), contents);
  };
  expect("my notes", 1);
  expect("my notes\nand more", 1);
  expect("[]\n", 1);
  expect("{\"sweep\": 3}\n", 1);
  expect("{\"sweep\": {\"epochs\": 5}}\n", 1);
  const std::string first = "{\"sweep\": {\"epochs\": \"5\", \"model\": \"gcn\"}}\n";
  expect(first + "{}\n", 2);
  expect(first + "{\"run\": {}, \"seconds\": 1}\n", 2);
  expect(first + "{\"run\": {}, \"seconds\": 1, \"failed\": \"\", \"exit_code\": 2}\ncut", 2);
  expect(first +
             "{\"run\": {}, \"seconds\": 1, \"train\": 1, \"val\": \"x\", \"test\": 1, \"val_loss\": 1, "
             "\"best_epoch\": 1, \"epochs\": 1}\n",
         2);
  write_file(path, first);
  EXPECT_EQ(SweepResults(path, kShared).size(), 0u);
  EXPECT_ERROR(SweepResults(dir / "none/r", kShared),
               dir / "none/r" + ": cannot be written: No such file or directory");
}

TEST(TrainSweepResults, TrialsWithOtherSharedOptionsAreNoticed) {
  const TempDir dir;
  const std::string path = dir / "r.jsonl";
  { const SweepResults results(path, kShared); }
  const std::string what = ": delete the file, or name another with --sweep-results";
  EXPECT_ERROR(SweepResults(path, {{"epochs", "6"}, {"model", "gcn"}}),
               str(path, ": is of trials with --epochs 5, and these have --epochs 6", what));
  EXPECT_ERROR(SweepResults(path, {{"model", "gcn"}}),
               str(path, ": is of trials with --epochs 5, and these have no --epochs", what));
  EXPECT_ERROR(SweepResults(path, {{"epochs", "5"}, {"hidden", "8"}, {"model", "gcn"}}),
               str(path, ": is of trials with no --hidden, and these have --hidden 8", what));
}

TEST(TrainSweepResults, OneSweepWritesAtATime) {
  const TempDir dir;
  const std::string path = dir / "r.jsonl";
  const std::string text = path +
                           ": another sweep is writing it: wait for its end, or name another file with "
                           "--sweep-results";
  {
    const SweepResults results(path, kShared);
    EXPECT_ERROR(SweepResults(path, kShared), text);
  }
  // A killed process keeps no lock.
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const SweepResults results(path, kShared);
    if (::write(ready[1], "x", 1) == 1) ::pause();
    ::_exit(1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_ERROR(SweepResults(path, kShared), text);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(SweepResults(path, kShared).size(), 0u);
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace rodeo
