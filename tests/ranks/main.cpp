// Tests of several ranks: rank_launch 2 rank_tests, or mpirun -np 2 rank_tests. Every rank runs all tests;
// rank 0 prints. RODEO_TEST_LOG=FILE: failures of rank r > 0 go to FILE.r, which rank_launch shows in part
// only.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/storage.h"
#include "core/threads.h"
#include "tests/ranks/ranks.h"
#include "tests/support/temp_dir.h"

namespace rodeo::test {
namespace {

const Communicator* current = nullptr;
Device current_device = kCpu;
std::string shared_folder;

/// The path that rank 0 gives. Paths of all ranks have one length.
std::string of_first_rank(const std::string& path) {
  const Tensor mine = Tensor::from(std::vector<std::int32_t>(path.begin(), path.end()));
  const auto all = ranks().all_gather(mine).to_vector<std::int32_t>();
  return {all.begin(), all.begin() + mine.numel()};
}

/// Prints only failures. OnTestPartResult() may ask Google Test for nothing: it holds a lock.
class Failures : public testing::EmptyTestEventListener {
 public:
  void OnTestStart(const testing::TestInfo& test) override { test_ = test.name(); }
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::cerr << "rank " << ranks().rank() << ": " << test_ << ": " << result.message() << std::endl;
  }

 private:
  std::string test_;
};

}  // namespace

const Communicator& ranks() {
  return *current;
}

Device device() {
  return current_device;
}

std::string shared_path(const std::string& name) {
  return shared_folder + "/" + name;
}

}  // namespace rodeo::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  rodeo::set_num_threads(1);
  rodeo::set_poison_memory(true);
  const bool cuda = argc > 1 && std::string_view(argv[1]) == "--cuda";
  rodeo::CommunicatorOptions options;
  if (const char* seconds = std::getenv("RODEO_TEST_TIMEOUT")) options.timeout_seconds = std::atof(seconds);
  const auto run = [cuda](const rodeo::Communicator& ranks) {
    rodeo::test::current = &ranks;
    const rodeo::test::TempDir folder;  // that of rank 0 is for all ranks, until the last has ended
    rodeo::test::shared_folder = rodeo::test::of_first_rank(folder / "");
    if (cuda) rodeo::test::current_device = ranks.gpu();
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    const char* const log = std::getenv("RODEO_TEST_LOG");
    if (ranks.rank() > 0 && log) {
      rodeo::check(std::freopen(rodeo::str(log, ".", ranks.rank()).c_str(), "w", stderr), "cannot write ",
                   log);
      std::setvbuf(stderr, nullptr, _IONBF, 0);
    }
    if (ranks.rank() > 0) delete listeners.Release(listeners.default_result_printer());
    if (ranks.rank() > 0) listeners.Append(new rodeo::test::Failures);
    const int status = RUN_ALL_TESTS();
    const rodeo::Tensor worst = rodeo::Tensor::from(std::vector<std::int32_t>{status});
    ranks.all_reduce(worst, rodeo::Reduction::kMax);
    return static_cast<int>(worst.item());
  };
  return rodeo::run_ranks(run, options);
}
