// Labels that look like others, on each side of the edges.
#include "train/task/label_checks.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/devices.h"

namespace rodeo::test {
namespace {

std::vector<std::string> check_of(const Tensor& y) {
  return check_label_kind(y, "nodes", "/y");
}
Tensor floats(const std::vector<float>& values, std::int64_t columns = 1) {
  return Tensor::from(values, {std::ssize(values) / columns, columns});
}
Tensor bytes(const std::vector<std::uint8_t>& values, std::int64_t columns) {
  return Tensor::from(values, {std::ssize(values) / columns, columns});
}

TEST(TrainLabelChecks, AmountsAsClassesAreRefused) {
  const auto classes = [](std::int64_t count, std::int64_t nodes) {
    std::vector<std::int64_t> y{-1, -1};
    for (std::int64_t i = 0; i < nodes; ++i) y.push_back(i % count);
    return Tensor::from(y);
  };
  EXPECT_ERROR(
      check_of(classes(299, 300)),
      "/y has 299 classes among 300 nodes with a label, fewer than two a class. Integers are classes: "
      "amounts are stored as floats [nodes, 1], by rodeo_data import csv --regression for example");
  EXPECT_TRUE(check_of(classes(150, 300)).empty());
  EXPECT_THROW(check_of(classes(151, 300)), Error);
  EXPECT_THROW(check_of(classes(20, 20)), Error);
  EXPECT_TRUE(check_of(classes(19, 19)).empty());
}

TEST(TrainLabelChecks, ClassesAsNumbersAreNamed) {
  const std::string integers = ": for classes store /y as integers [nodes]";
  EXPECT_EQ(
      check_of(floats({1, 0, 0, 0, 0, 1, NAN, NAN, NAN}, 3)),
      std::vector<std::string>{
          "labels are floats, understood as 3 numbers to predict, but each row has a single 1" + integers});
  EXPECT_TRUE(check_of(floats({1, 0, 0, 0, 0.5f, 1}, 3)).empty());
  EXPECT_TRUE(check_of(floats({1, 0, 1, 0, 0, 1}, 3)).empty());
  EXPECT_EQ(
      check_of(floats({0, 1, 2, 2, 1, 0, NAN})),
      std::vector<std::string>{
          "labels are floats, understood as numbers to predict, but all are one of 0, ..., 2" + integers});
  EXPECT_TRUE(check_of(floats({0, 1, 2, 1, 0})).empty());        // fewer than two of a kind
  EXPECT_TRUE(check_of(floats({0, 2, 2, 0})).empty());           // 1 is missing
  EXPECT_TRUE(check_of(floats({0, 1, 1.5f, 1, 0, 0})).empty());  // no integer
  EXPECT_TRUE(check_of(floats({0, 0, 0})).empty());
  EXPECT_TRUE(check_of(floats({NAN, NAN, NAN, NAN, NAN, NAN}, 3)).empty());  // nothing is known
}

TEST(TrainLabelChecks, ClassesAsSeveralLabelsAreNamed) {
  EXPECT_EQ(
      check_of(bytes({0, 1, 1, 255}, 1)),
      std::vector<std::string>{"labels are [nodes, 1], understood as one label that is there or not, with "
                               "micro-F1: for classes store /y as integers [nodes]"});
  EXPECT_EQ(
      check_of(bytes({0, 1, 1, 0, 255, 255}, 2)),
      std::vector<std::string>{"labels are [nodes, 2], understood as several labels each, but all have one: "
                               "for classes store /y as integers [nodes]"});
  EXPECT_TRUE(check_of(bytes({0, 1, 1, 1}, 2)).empty());
  EXPECT_TRUE(check_of(bytes({0, 1, 0, 0}, 2)).empty());
}

}  // namespace
}  // namespace rodeo::test
