#include "core/threads.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "core/device.h"
#include "tests/support/devices.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace rodeo {
namespace {

TEST(CoreThreads, NumberIsOfTheCallingThread) {
  const int before = num_threads();
  set_num_threads(before + 2);
  EXPECT_EQ(num_threads(), before + 2);
  EXPECT_NE(describe(kCpu).find(str(", ", before + 2, " threads")), std::string::npos) << describe(kCpu);
  std::thread([&] { EXPECT_EQ(num_threads(), before); }).join();
  set_num_threads(before);
  for (const int count : {0, -1, 1025})
    EXPECT_ERROR(set_num_threads(count), str("[set_num_threads] count must be in [1, 1024], got ", count));
  EXPECT_EQ(num_threads(), before);
}

/// The policy and the spin count that OpenMP prints when a program has started with these variables.
std::string openmp_settings(const std::string& program, const std::string& environment) {
  const test::TempDir dir;
  const std::string line =
      str("exec env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT -u KMP_BLOCKTIME ",
          "OMP_NUM_THREADS=2 OMP_DISPLAY_ENV=verbose ", environment, " '", program, "' --version");
  EXPECT_EQ(test::wait_for(test::start({"/bin/bash", "-c", line}, dir / "out", dir / "err")), 0) << line;
  std::stringstream text;
  text << std::ifstream(dir / "err").rdbuf();
  std::string policy, spins;  // the last ones: a restarted program prints them again
  for (std::string word, is, value; text >> word;) {
    if (word == "OMP_WAIT_POLICY") text >> is >> policy;
    if (word == "GOMP_SPINCOUNT") text >> is >> spins;
  }
  return policy + spins;
}

// Spinning threads make training 30 times slower where other processes want the processors too.
TEST(CoreThreads, IdleThreadsOfEveryProgramSleepUnlessTheUserChose) {
  for (const char* name : {"train_gcn", "rodeo_data"}) {
    const std::string program = test::command(name);
    if (openmp_settings(program, "GOMP_SPINCOUNT=77") != "'PASSIVE''77'")
      GTEST_SKIP() << "this OpenMP does not print its settings as GCC's does";
    EXPECT_EQ(openmp_settings(program, ""), "'PASSIVE''1000'");
    EXPECT_EQ(openmp_settings(program, "OMP_WAIT_POLICY=active"), "'ACTIVE''30000000000'");
    EXPECT_EQ(openmp_settings(program, "OMP_WAIT_POLICY=passive"), "'PASSIVE''0'");
    EXPECT_EQ(openmp_settings(program, "OMP_NUM_THREADS=1"), "'PASSIVE''300000'") << "a restart for nothing";
  }
}

}  // namespace
}  // namespace rodeo
