#include "core/enum_names.h"

#include <gtest/gtest.h>

#include "tests/support/devices.h"

namespace rodeo {

enum class Outline { kRound, kFlat, kTall, kUnnamed };

template <>
inline constexpr auto kEnumNames<Outline> =
    enum_names<Outline>({{Outline::kRound, "round"}, {Outline::kFlat, "flat"}, {Outline::kTall, "tall"}});

namespace {

enum class Unnamed { kOne };
static_assert(NamedEnum<Outline> && !NamedEnum<Unnamed> && !NamedEnum<int>);

TEST(CoreEnumNames, AValueHasAName) {
  static_assert(name(Outline::kFlat) == "flat");
  EXPECT_EQ(str(Outline::kTall), "tall");
  EXPECT_EQ(name(Outline::kUnnamed), "?");
}

TEST(CoreEnumNames, ANameHasAValue) {
  EXPECT_EQ(parse_name<Outline>("--shape", "flat"), Outline::kFlat);
  EXPECT_EQ(kEnumNames<Outline>.find("tall"), Outline::kTall);
  EXPECT_EQ(kEnumNames<Outline>.find("flatter"), std::nullopt);
}

TEST(CoreEnumNames, ErrorsListTheChoices) {
  EXPECT_ERROR(parse_name<Outline>("--shape", "long"), "--shape must be round, flat or tall, got 'long'");
  EXPECT_ERROR(parse_name<Outline>("--shape", ""), "--shape must be round, flat or tall, got ''");
  constexpr auto kSome = enum_names<Outline>({{Outline::kTall, "tall"}}, "form");
  EXPECT_ERROR(kSome.parse("--shape", "flat"), "unknown form 'flat': expected one of tall");
}

TEST(CoreEnumNames, ChoicesAreInTheOrderOfTheTable) {
  EXPECT_EQ(kEnumNames<Outline>.names(), "round, flat, tall");
  EXPECT_EQ(kEnumNames<Outline>.names("|"), "round|flat|tall");
}

}  // namespace
}  // namespace rodeo
