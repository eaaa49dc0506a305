#include "train/task/correct_and_smooth.h"

#include <algorithm>
#include <cmath>

#include "ops/convert.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

// Loops over a dense matrix, with the formulas of the header.
TEST(TrainCorrectAndSmooth, IsTheLoopOfThePaper) {
  constexpr int kNodes = 12, kClasses = 3;
  using Dense = std::vector<std::vector<double>>;
  Dense a(kNodes, std::vector<double>(kNodes));
  std::vector<std::int64_t> row, col, label, train{0, 3, 4, 9};
  for (int i = 0; i < kNodes - 1; ++i)  // the last node has no neighbour
    for (int j : {(i + 1) % (kNodes - 1), (i * i + 2) % (kNodes - 1)}) a[i][j] = a[j][i] = 1;
  std::vector<double> degree(kNodes);
  for (int i = 0; i < kNodes; ++i)
    for (int j = 0; j < kNodes; ++j)
      if (a[i][j] != 0) row.push_back(i), col.push_back(j), ++degree[i];
  std::vector<double> p;
  for (int i = 0; i < kNodes; ++i) {
    label.push_back(i % kClasses);
    const double first = 0.1 + 0.05 * (i % 5), second = 0.3 + 0.02 * i;
    p.insert(p.end(), {first, second, 1 - first - second});
  }
  const auto is_train = [&](int i) { return std::ranges::count(train, i) > 0; };
  // The weight of a message to i from j is degree_i^-rows degree_j^(rows - 1).
  const auto propagate = [&](const Dense& x, double alpha, double least, double rows) {
    Dense z = x;
    for (int step = 0; step < 50; ++step) {
      Dense next(kNodes, std::vector<double>(kClasses));
      for (int i = 0; i < kNodes; ++i)
        for (int c = 0; c < kClasses; ++c) {
          double sum = 0;
          for (int j = 0; j < kNodes; ++j)
            if (a[i][j] != 0) sum += z[j][c] / std::pow(degree[i], rows) / std::pow(degree[j], 1 - rows);
          next[i][c] = std::clamp((1 - alpha) * x[i][c] + alpha * sum, least, 1.0);
        }
      z = next;
    }
    return z;
  };
  Dense error(kNodes, std::vector<double>(kClasses)), outcome = error;
  double total = 0;
  for (int i = 0; i < kNodes; ++i)
    for (int c = 0; c < kClasses; ++c)
      if (is_train(i)) total += std::abs(error[i][c] = (label[i] == c) - p[i * kClasses + c]);
  const Dense spread = propagate(error, 0.9791632871592579, -1, 1);
  for (int i = 0; i < kNodes; ++i) {
    double sum = 0;
    for (const double e : spread[i]) sum += std::abs(e);
    double scale = total / 4 / sum;
    if (!(scale <= 1000)) scale = 1;
    for (int c = 0; c < kClasses; ++c)
      outcome[i][c] = is_train(i) ? (label[i] == c) : p[i * kClasses + c] + scale * spread[i][c];
  }
  std::vector<double> want;
  for (const std::vector<double>& values : propagate(outcome, 0.7564990804200602, 0, 0))
    want.insert(want.end(), values.begin(), values.end());

  const Adjacency adj = coo_to_csr(Tensor::from(row), Tensor::from(col), kNodes, kNodes).adj;
  const Tensor probability = Tensor::from(p, Shape{kNodes, kClasses}), y = Tensor::from(label);
  EXPECT_TRUE(near(correct_and_smooth(adj, probability, y, Tensor::from(train)), want, 1e-10, 1e-12));
  EXPECT_ERROR(correct_and_smooth(adj, probability, y, Tensor::zeros({0}, DType::kI64)),
               "[correct_and_smooth] there are no training nodes");

  Dense known(kNodes, std::vector<double>(kClasses));
  for (const std::int64_t i : train) known[i][label[i]] = 1;
  want.clear();
  for (const std::vector<double>& values : propagate(known, 0.9, 0, 0.5))
    want.insert(want.end(), values.begin(), values.end());
  EXPECT_TRUE(near(label_propagation(adj, y, Tensor::from(train), kClasses), want, 1e-10, 1e-12));
  EXPECT_ERROR(label_propagation(adj, y, Tensor::from(train), 1),
               "[label_propagation] the label of training node 4 must be in [0, 1), got 1");
}

// Without an error to spread, the scale of all rows is 0 / 0.
TEST(TrainCorrectAndSmooth, PerfectPredictionsStay) {
  const Adjacency pair =
      coo_to_csr(Tensor::from<std::int64_t>({0, 1}), Tensor::from<std::int64_t>({1, 0}), 2, 2).adj;
  const Tensor p = Tensor::from(std::vector<double>{1, 0, 1, 0}, {2, 2});
  const Tensor label = Tensor::zeros({2}, DType::kI64), train = Tensor::from<std::int64_t>({0});
  EXPECT_TRUE(near(correct_and_smooth(pair, p, label, train), {1, 0, 1, 0}, 1e-6));
}

}  // namespace
}  // namespace rodeo::test
