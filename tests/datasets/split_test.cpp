#include "datasets/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo {
namespace {

using test::same_bits;
using Ids = std::vector<std::int64_t>;

TEST(DatasetsSplit, IsDisjointAscendingAndOfTheSizeAsked) {
  Ids labels(1000, 0);
  for (std::size_t i = 0; i < labels.size(); i += 10) labels[i] = -1;
  const struct {
    const char* percents;
    std::size_t train, val, test;
  } cases[] = {{"60/20/20", 540, 180, 180},    {"7.5/2.5/90", 68, 22, 810},      {"0.1/0/0", 90, 0, 0},
               {"0.6/0.2/0.2", 540, 180, 180},  // as scikit-learn and PyG write it
               {"1/0/0", 900, 0, 0},           {"33.3/33.3/33.4", 300, 299, 301}};
  for (const auto& c : cases) {
    const Split split = random_split(Tensor::from(labels), c.percents, 1);
    std::set<std::int64_t> seen;
    for (const auto& [part, size] :
         {std::pair{split.train, c.train}, {split.val, c.val}, {split.test, c.test}}) {
      const Ids nodes = part.to_vector<std::int64_t>();
      EXPECT_EQ(nodes.size(), size) << c.percents;
      EXPECT_TRUE(std::is_sorted(nodes.begin(), nodes.end()));
      for (const std::int64_t node : nodes) {
        EXPECT_EQ(labels[node], 0);
        EXPECT_TRUE(seen.insert(node).second) << node;
      }
    }
  }
}

TEST(DatasetsSplit, OneKnownTargetIsALabel) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  const Tensor y = Tensor::from(std::vector<float>{1, none, none, none, 2, 3, none, 4}, {4, 2});
  EXPECT_EQ(random_split(y, "100/0/0", 0).train.to_vector<std::int64_t>(), (Ids{0, 2, 3}));
}

TEST(DatasetsSplit, DependsOnTheSeedAlone) {
  const Tensor y = Tensor::zeros({1000}, DType::kI64);
  EXPECT_TRUE(same_bits(random_split(y, "50/25/25", 3).train, random_split(y, "50/25/25", 3).train));
  EXPECT_FALSE(same_bits(random_split(y, "50/25/25", 3).train, random_split(y, "50/25/25", 4).train));
  // The contract: the same split on every machine.
  EXPECT_EQ(random_split(y, "0.005/0/0", 0).train.to_vector<std::int64_t>(), (Ids{73, 147, 158, 745, 859}));
}

TEST(DatasetsSplit, FractionsArePercentages) {
  const Tensor y = Tensor::zeros({1000}, DType::kI64);
  const Split a = random_split(y, "60/20/20", 3), b = random_split(y, "0.6/0.2/0.2", 3);
  EXPECT_TRUE(same_bits(a.train, b.train) && same_bits(a.val, b.val) && same_bits(a.test, b.test));
}

TEST(DatasetsSplit, BadPercentagesAreNamed) {
  for (const char* bad : {"60/20", "60/20/20/0", "60/20/30", "60/20/10", "6/2/2", "0.6/0.2/0.3", "0/0/0",
                          "-1/50/50", "a/b/c", "60/20/20 ", "", "//", "nan/1/1", "inf/0/0", "60,20,20"})
    EXPECT_ERROR(random_split(Tensor::zeros({2}, DType::kI64), bad),
                 str("split must be percentages train/val/test that sum to 100, such as 60/20/20, or "
                     "fractions of at most "
                     "1 together, such as 0.6/0.2/0.2, got '",
                     bad, "'"));
}

TEST(DatasetsSplit, LabelsOutsideTheClassesAreNamed) {
  EXPECT_ERROR(planetoid_split(Tensor::from(Ids{0, 1, 5, -1}), 2, 1, 1, 0),
               "split: y[2] = 5 is outside [0, 2)");
  EXPECT_ERROR(planetoid_split(Tensor::zeros({4, 2}, DType::kU8), 2, 1, 1, 0),
               "split: y must be i64 [nodes]");
}

TEST(DatasetsSplit, PerClass) {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < 300; ++i) labels.push_back(i % 3);
  const Tensor y = Tensor::from(labels);
  const Split split = random_split(y, "class:20/50/100", 4), same = planetoid_split(y, 3, 20, 50, 100, 4);
  EXPECT_EQ(split.train.to_vector<std::int64_t>(), same.train.to_vector<std::int64_t>());
  EXPECT_EQ(split.test.to_vector<std::int64_t>(), same.test.to_vector<std::int64_t>());
  EXPECT_EQ(split.train.numel(), 60);
  for (const char* text :
       {"class:", "class:20", "class:20/50", "class:20/50/1/1", "class:0/5/5", "class:a/b/c"})
    EXPECT_ERROR(
        random_split(y, text, 0),
        str("split '", text,
            "' must be class:N/A/B, three numbers of at least 1: N training nodes of each class, then "
            "A to validate and B to test on, such as class:20/500/1000"));
}

// What torch.randperm gave after torch.manual_seed(123).
TEST(DatasetsSplit, PerClassAsTorchDraws) {
  Ids labels;
  for (std::int64_t i = 0; i < 60; ++i) labels.push_back(i % 3);
  const Tensor y = Tensor::from(labels);
  const Split split = random_split(y, "class:2/5/4@123", /*seed=*/7);
  EXPECT_EQ(split.train.to_vector<std::int64_t>(), (Ids{1, 2, 6, 23, 27, 40}));
  EXPECT_EQ(split.val.to_vector<std::int64_t>(), (Ids{26, 29, 30, 43, 49}));
  EXPECT_EQ(split.test.to_vector<std::int64_t>(), (Ids{5, 16, 24, 47}));
  EXPECT_ERROR(
      torch_split(y, 3, 21, 1, 1, 0),
      "split: class 0 has 20 nodes, fewer than the 21 to train on: give percentages such as 60/20/20");
  EXPECT_EQ(torch_split(y, 3, 18, 2, 4, 0).test.numel(), 4) << "all that are left";
  EXPECT_ERROR(
      torch_split(y, 3, 20, 1, 0, 0),
      "split: 1 + 0 nodes to validate and test on are more than the 0 left: give percentages such as "
      "60/20/20");
  EXPECT_ERROR(torch_split(y, 2, 2, 5, 4, 0), "split: y[2] = 2 is outside [0, 2)");
  EXPECT_ERROR(torch_split(y, 3, 2, 5, 4, std::uint64_t{1} << 32),
               "split: seed must be below 2^32, got 4294967296");
  for (const char* text : {"class:2/5/4@", "class:2/5/4@-1", "class:2/5/4@4294967296", "class:2/5/4@1x"})
    EXPECT_ERROR(random_split(y, text, 0),
                 str("split '", text,
                     "': after @ expected a seed from 0 to 4294967295, such as class:20/500/1000@123"));
}

}  // namespace
}  // namespace rodeo
