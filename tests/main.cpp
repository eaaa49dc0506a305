// Runs the tests. Writes one line "name: reason" for each skipped test to the file that RODEO_SKIPPED names.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "core/threads.h"
#include "tests/support/host_setup.h"
#include "tests/support/temp_dir.h"

namespace {

class SkipList : public testing::EmptyTestEventListener {
 public:
  void OnTestEnd(const testing::TestInfo& test) override {
    if (!test.result()->Skipped()) return;
    std::string reason = "no reason given";
    for (int i = 0; i < test.result()->total_part_count(); ++i)
      if (test.result()->GetTestPartResult(i).skipped())
        reason = test.result()->GetTestPartResult(i).summary();
    while (!reason.empty() && reason.back() == '\n') reason.pop_back();
    if (const auto line = reason.rfind('\n'); line != std::string::npos) reason = reason.substr(line + 1);
    lines_.push_back(std::string(test.test_suite_name()) + "." + test.name() + ": " + reason);
  }
  void OnTestProgramEnd(const testing::UnitTest& unit) override {
    if (const char* path = std::getenv("RODEO_SKIPPED")) {
      std::ofstream file(path);
      for (const std::string& line : lines_) file << line << '\n';
    }
    std::cout << unit.successful_test_count() << " passed, " << unit.failed_test_count() << " failed, "
              << unit.skipped_test_count() << " skipped" << std::endl;
  }

 private:
  std::vector<std::string> lines_;
};

}  // namespace

int main(int argc, char** argv) {
  rodeo::configure_threads(argv);
  rodeo::test::set_up_host();
  const rodeo::test::TempDir cache;  // never the user's own
  setenv("RODEO_CACHE_DIR", (cache / "").c_str(), 1);
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new SkipList);
  const int status = RUN_ALL_TESTS();
  const bool any = testing::UnitTest::GetInstance()->test_to_run_count() > 0;  // a filter may match nothing
  return any ? status : 1;
}
