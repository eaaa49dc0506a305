// Tests of several ranks: rank_launch 2 rank_tests, or mpirun -np 2 rank_tests. Every rank runs all tests;
// rank 0 prints.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string_view>

#include "core/storage.h"
#include "core/threads.h"
#include "tests/ranks/ranks.h"

namespace rodeo::test {
namespace {

const Communicator* current = nullptr;
Device current_device = kCpu;

/// Prints only failures.
class Failures : public testing::EmptyTestEventListener {
 public:
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    std::cerr << "rank " << ranks().rank() << ": " << (test ? test->name() : "") << ": " << result.message()
              << std::endl;
  }
};

}  // namespace

const Communicator& ranks() {
  return *current;
}

Device device() {
  return current_device;
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
    if (cuda) rodeo::test::current_device = ranks.gpu();
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    if (ranks.rank() > 0) delete listeners.Release(listeners.default_result_printer());
    if (ranks.rank() > 0) listeners.Append(new rodeo::test::Failures);
    const int status = RUN_ALL_TESTS();
    const rodeo::Tensor worst = rodeo::Tensor::from(std::vector<std::int32_t>{status});
    ranks.all_reduce(worst, rodeo::Reduction::kMax);
    return static_cast<int>(worst.item());
  };
  return rodeo::run_ranks(run, options);
}
