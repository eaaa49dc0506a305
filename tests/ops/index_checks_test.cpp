// Index inputs out of range: an Error at once on the CPU, and where the host next waits on CUDA.
#include "ops/index_checks.h"

#include <cmath>

#include "ops/bce.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/edge_sum.h"
#include "ops/gather_rows.h"
#include "ops/loss.h"
#include "ops/regression_loss.h"
#include "ops/select_rows.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

using Ids = std::vector<std::int64_t>;

class OpsIndexChecks : public OnDevice {
 protected:
  static Tensor ids(const Ids& values) { return Tensor::from(values, device()); }
  /// The error of work() and of reading its result.
  template <class F>
  static std::string error(F&& work) {
    return error_of([&] { work().to(kCpu); });
  }
};
RODEO_ON_ALL_DEVICES(OpsIndexChecks);

TEST_P(OpsIndexChecks, Labels) {
  const Tensor scores = Tensor::zeros({5, 3}, DType::kF32, device()), all = ids({0, 1, 2, 3, 4});
  for (const std::int64_t bad : {3, 99, -1}) {
    const Tensor label = ids({0, 1, bad, 0, 2});
    const std::string text = str("] label[2] = ", bad, " is outside [0, 3)");
    EXPECT_EQ(error([&] { return cross_entropy(scores, label, all); }), "[cross_entropy" + text);
    EXPECT_EQ(error([&] { return nll_loss(scores, label, all); }), "[nll_loss" + text);
    EXPECT_EQ(error([&] { return node_metrics(scores, label, {ids({0}), all}); }), "[node_metrics" + text);
    EXPECT_NE(error_of([&] { accuracy(scores, label, all); }).find(text), std::string::npos);
    // A label of a node that is not named does not matter: unlabelled nodes have -1.
    EXPECT_NEAR(cross_entropy(scores, label, ids({0, 1, 3})).item(), std::log(3), 1e-6);
  }
  // After an error all is as before.
  EXPECT_NEAR(cross_entropy(scores, ids({0, 1, 2, 0, 2}), all).item(), std::log(3), 1e-6);
}

TEST_P(OpsIndexChecks, NodesOfALoss) {
  const Tensor scores = Tensor::zeros({5, 3}, DType::kF32, device()), label = ids({0, 1, 2, 0, 2});
  const Tensor target = Tensor::zeros({5, 3}, DType::kU8, device());
  for (const std::int64_t bad : {std::int64_t{5}, std::int64_t{1} << 40, std::int64_t{-1}}) {
    const Tensor index = ids({0, 4, bad});
    const std::string text = str("] index[2] = ", bad, " is outside [0, 5)");
    EXPECT_EQ(error([&] { return cross_entropy(scores, label, index); }), "[cross_entropy" + text);
    EXPECT_EQ(error([&] { return nll_loss(scores, label, index); }), "[nll_loss" + text);
    EXPECT_EQ(error([&] { return node_metrics(scores, label, {index}); }), "[node_metrics" + text);
    EXPECT_EQ(error([&] { return bce_with_logits(scores, target, index); }), "[bce_with_logits" + text);
    EXPECT_EQ(error([&] { return mse_loss(scores, scores, index); }), "[mse_loss" + text);
    EXPECT_EQ(error([&] { return gather_rows(scores, index); }), "[gather_rows" + text);
    EXPECT_EQ(error([&] { return label_metrics(scores, target, {index}); }), "[label_metrics" + text);
  }
  EXPECT_NEAR(bce_with_logits(scores, target, ids({4})).item(), std::log(2), 1e-6);
}

// The error comes from the wait; the gradient is that of the nodes in range.
TEST_P(OpsIndexChecks, BackwardFollowsNoBadIndexOnCuda) {
  if (!device().is_cuda()) GTEST_SKIP() << "on the CPU the forward pass throws";
  const Tensor label = ids({0, 1, 9, 0, 2}), bad = ids({0, 2, 1 << 20});
  const Tensor target = Tensor::zeros({5, 3}, DType::kU8, device());
  const auto check_gradient = [&](const char* what, auto&& loss) {
    SCOPED_TRACE(what);
    const Variable x(uniform({5, 3}, -1, 1, {3, 0}, DType::kF32, device()), true);
    loss(x).backward();
    EXPECT_NE(error_of([&] { synchronize(device()); }), "");
    const std::vector<float> dx = x.grad().to_vector<float>();
    for (std::size_t i = 9; i < dx.size(); ++i) EXPECT_EQ(dx[i], 0) << i;
    EXPECT_NE(dx[0], 0);
  };
  check_gradient("cross_entropy", [&](const Variable& x) { return cross_entropy(x, label, bad); });
  check_gradient("nll_loss", [&](const Variable& x) { return nll_loss(x, label, bad); });
  check_gradient("bce_with_logits", [&](const Variable& x) { return bce_with_logits(x, target, bad); });
  const Tensor zero = Tensor::zeros({5, 3}, DType::kF32, device());
  check_gradient("mse_loss", [&](const Variable& x) { return mse_loss(x, zero, bad); });
}

TEST_P(OpsIndexChecks, Take) {
  for (const Tensor& values : {uniform({4}, 1, 2, {1, 0}, DType::kF32, device()),
                               uniform({4, 3}, 1, 2, {2, 0}, DType::kF32, device())}) {
    for (const std::int64_t bad : {std::int64_t{4}, std::int64_t{-2}, std::int64_t{1} << 50})
      EXPECT_EQ(error([&] {
                  return take(values, ids({0, -1, 3, bad}));
                }),
                str("[take] ids[3] = ", bad, " is outside [0, 4)"));
    EXPECT_TRUE(same_bits(take(values, ids({3, 2, 1, 0})).slice(3, 4), values.slice(0, 1)));
  }
}

TEST_P(OpsIndexChecks, EdgesAndRows) {
  const Adjacency adj = coo_to_csr(ids({0, 0, 2}), ids({1, 2, 0}), 3, 3).adj;
  const Tensor x = Tensor::full({3, 2}, 1, DType::kF32, device());
  EXPECT_EQ(error([&] {
              return edge_sum(adj, x, ids({0, 3, 1}));
            }),
            "[edge_sum] edge_ids[1] = 3 is outside [0, 3)");
  EXPECT_EQ(error([&] {
              return edge_sum(adj, x, ids({0, 2, -7}));
            }),
            "[edge_sum] edge_ids[2] = -7 is outside [0, 3)");
  EXPECT_EQ(edge_sum(adj, x, ids({2, 1, 0})).to(kCpu).to_vector<float>(),
            (std::vector<float>{2, 2, 0, 0, 1, 1}));
  EXPECT_EQ(error([&] {
              return select_rows(adj, ids({0, 3})).adj.csr().col;
            }),
            "[select_rows] rows[1] = 3 is outside [0, 3)");
}

}  // namespace
}  // namespace rodeo::test
