#include "core/host/terminal.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

namespace rodeo {
namespace {

/// Sets a variable of the environment as long as it lives.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before, was_set_ = true;
    setenv(name, value, 1);
  }
  ~ScopedVariable() {
    if (was_set_)
      setenv(name_, before_.c_str(), 1);
    else
      unsetenv(name_);
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::string before_;
  bool was_set_ = false;
};

TEST(CoreTerminal, ColumnsCount) {
  {
    const ScopedVariable columns("COLUMNS", "57");
    EXPECT_EQ(terminal_width(80), 57);
  }
  for (const char* bad : {"", "x", "0", "-4", "80x", "99999"}) {
    const ScopedVariable columns("COLUMNS", bad);
    EXPECT_GT(terminal_width(80), 0);
    EXPECT_LE(terminal_width(80), 1000);
  }
}

TEST(CoreTerminal, HelpIsNeitherNarrowNorWide) {
  for (const auto& [columns, width] : {std::pair{"20", 40}, {"57", 57}, {"500", 110}}) {
    const ScopedVariable variable("COLUMNS", columns);
    EXPECT_EQ(help_width(), width);
  }
}

TEST(CoreTerminal, PaintAddsCodesWhereColoursAreOn) {
  EXPECT_EQ(paint(false, Colour::kRed, "x"), "x");
  EXPECT_EQ(paint(true, Colour::kRed, "x"), "\x1b[31mx\x1b[0m");
}

TEST(CoreTerminal, WrapBreaksAtBlanks) {
  EXPECT_EQ(wrap("one two three", 7), "one two\nthree");
  EXPECT_EQ(wrap("one two three", 7, 2), "one two\n  three");
  EXPECT_EQ(wrap("a\nb  c", 80), "a\nb c");
  EXPECT_EQ(wrap("incomprehensibilities a", 5), "incomprehensibilities\na");
  EXPECT_EQ(wrap("", 5), "");
}

TEST(CoreTerminal, TheClosestWordIsNear) {
  const std::vector<std::string> choices = {"epochs", "eval-every", "lr",           "lr-schedule",
                                            "hidden", "heads",      "no-cuda-graph"};
  EXPECT_EQ(closest("epoch", choices), "epochs");
  EXPECT_EQ(closest("hiden", choices), "hidden");
  EXPECT_EQ(closest("ehads", choices), "heads");
  EXPECT_EQ(closest("lr-sched", choices), "lr-schedule");
  EXPECT_EQ(closest("frobnicate", choices), "");
  EXPECT_EQ(closest("x", choices), "");
  EXPECT_EQ(closest("", choices), "");
  EXPECT_EQ(closest("xy", choices), "");
}

}  // namespace
}  // namespace rodeo
