// Sweeps in processes of their own, which are killed.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/support/process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"
#include "train/io/atomic_file.h"

namespace rodeo {
namespace {

using test::start;
using test::TempDir;
using test::wait_for;
constexpr std::size_t kLimit = 1 << 20;

std::ptrdiff_t lines_of(const std::string& path) {
  if (!std::filesystem::exists(path)) return 0;
  const std::string text = read_file(path, kLimit);
  return std::count(text.begin(), text.end(), '\n');
}

/// The table of trials, and the command of the best one.
std::string end_of(const std::string& path) {
  const std::string text = read_file(path, kLimit);
  return text.substr(std::min(text.find("\nval "), text.size()));
}

TEST(TrainSweepProcess, GoesOnAfterSignalsWithTheSameResults) {
  ::signal(SIGINT, SIG_DFL);
  const TempDir dir;
  save_dataset(test::tiny_dataset(), dir / "tiny.h5");
  write_file(dir / "s.json", str(R"({"options": {"dataset": ")", dir / "tiny.h5",
                                 R"(", "epochs": 400}, "grid": {"hidden": [4, 8], "lr": [0.1, 0.01]}})"));
  const auto sweep = [&](const std::string& results, const std::string& out) {
    return start({test::command("train_gcn"), "--sweep", dir / "s.json", "--device", "cpu", "--threads", "1",
                  "--seeds", "2", "--sweep-results", dir / results},
                 dir / out, dir / "err");
  };
  ASSERT_EQ(wait_for(sweep("whole.jsonl", "whole")), 0) << read_file(dir / "err", kLimit);
  EXPECT_EQ(lines_of(dir / "whole.jsonl"), 9);
  for (const int signal : {SIGINT, SIGKILL}) {
    const std::ptrdiff_t before = lines_of(dir / "r.jsonl");
    const pid_t child = sweep("r.jsonl", "cut");
    const auto begin = std::chrono::steady_clock::now();
    while (lines_of(dir / "r.jsonl") < std::max<std::ptrdiff_t>(before, 1) + 2 &&
           std::chrono::steady_clock::now() - begin < std::chrono::minutes(1))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(::kill(child, signal), 0);
    EXPECT_NE(wait_for(child), 0);
    EXPECT_LT(lines_of(dir / "r.jsonl"), 9) << "the sweep was over before the signal";
  }
  ASSERT_EQ(wait_for(sweep("r.jsonl", "again")), 0) << read_file(dir / "err", kLimit);
  EXPECT_EQ(lines_of(dir / "r.jsonl"), 9);
  EXPECT_EQ(end_of(dir / "again"), end_of(dir / "whole"));
  EXPECT_NE(end_of(dir / "again").find("train_gcn --dataset"), std::string::npos);
}

}  // namespace
}  // namespace rodeo
