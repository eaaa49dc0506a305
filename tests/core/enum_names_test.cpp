#include "core/enum_names.h"

#include <gtest/gtest.h>

#include "tests/support/devices.h"

namespace rodeo {
namespace {

enum class Shape { kRound, kFlat, kTall, kUnnamed };

}  // namespace

template <>
inline constexpr auto kEnumNames<Shape> =
    enum_names<Shape>({{Shape::kRound, "round"}, {Shape::kFlat, "flat"}, {Shape::kTall, "tall"}});

namespace {

enum class Unnamed { kOne };
static_assert(NamedEnum<Shape> && !NamedEnum<Unnamed> && !NamedEnum<int>);

TEST(CoreEnumNames, AValueHasAName) {
  static_assert(name(Shape::kFlat) == "flat");
  EXPECT_EQ(str(Shape::kTall), "tall");
  EXPECT_EQ(name(Shape::kUnnamed), "?");
}

TEST(CoreEnumNames, ANameHasAValue) {
  EXPECT_EQ(parse_name<Shape>("--shape", "flat"), Shape::kFlat);
  EXPECT_EQ(kEnumNames<Shape>.find("tall"), Shape::kTall);
  EXPECT_EQ(kEnumNames<Shape>.find("flatter"), std::nullopt);
}

TEST(CoreEnumNames, ErrorsListTheChoices) {
  EXPECT_ERROR(parse_name<Shape>("--shape", "long"), "--shape must be round, flat or tall, got 'long'");
  EXPECT_ERROR(parse_name<Shape>("--shape", ""), "--shape must be round, flat or tall, got ''");
  constexpr auto kSome = enum_names<Shape>({{Shape::kTall, "tall"}}, "form");
  EXPECT_ERROR(kSome.parse("--shape", "flat"), "unknown form 'flat': expected one of tall");
}

TEST(CoreEnumNames, ChoicesAreInTheOrderOfTheTable) {
  EXPECT_EQ(kEnumNames<Shape>.names(), "round, flat, tall");
  EXPECT_EQ(kEnumNames<Shape>.names("|"), "round|flat|tall");
}

}  // namespace
}  // namespace rodeo
