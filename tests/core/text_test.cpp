#include "core/text.h"

#include <gtest/gtest.h>

#include <vector>

namespace rodeo::test {
namespace {

TEST(CoreText, ElementsAreJoined) {
  struct Named {
    std::string name;
  };
  const std::vector<Named> named{{"a"}, {""}, {"c"}};
  EXPECT_EQ(join(named, "|", &Named::name), "a||c");
  EXPECT_EQ(join(std::vector{"x"}), "x");
  EXPECT_EQ(join(std::vector<int>()), "");
  EXPECT_EQ(join(std::vector{1, 2}, ", ", [](int i) { return 10 * i; }), "10, 20");
}

TEST(CoreText, OneIsSingular) {
  EXPECT_EQ(count_of(0, "edge"), "0 edges");
  EXPECT_EQ(count_of(1, "relation"), "1 relation");
  EXPECT_EQ(count_of(3, "node type"), "3 node types");
  EXPECT_EQ(count_of(1, "class"), "1 class");
  EXPECT_EQ(count_of(2, "class"), "2 classes");
  EXPECT_EQ(count_of(2, "epoch"), "2 epochs");
}

}  // namespace
}  // namespace rodeo::test
