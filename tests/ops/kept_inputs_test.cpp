// An op keeps an input for its gradient only where the gradient reads it: what is kept is the memory of a
// training step.
#include <functional>
#include <string>

#include "core/kernel_observer.h"
#include "core/memory_stats.h"
#include "core/storage.h"
#include "ops/attention.h"
#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/edge_sum.h"
#include "ops/epilogue.h"
#include "ops/gather_rows.h"
#include "ops/grouped_linear.h"
#include "ops/heads.h"
#include "ops/scale_rows.h"
#include "ops/sddmm.h"
#include "ops/segment_reduce.h"
#include "ops/spmm.h"
#include "ops/spmv.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

class OpsKeptInputs : public OnDevice {
 protected:
  Variable random(const Shape& shape, bool learns = false) const {
    return Variable(random_tensor(shape, DType::kF32, device()), learns);
  }
  /// Whether the value of x [5, 4], or of x [5], is freed before f(x).
  bool frees(const std::function<Variable(const Variable&)>& f, const Shape& shape = {5, 4}) const {
    const Variable leaf = random(shape, true);
    Variable x = add(leaf, leaf);
    const std::weak_ptr<Storage> value = x.value().shared_storage();
    const Variable y = f(x);
    EXPECT_TRUE(y.requires_grad());
    x = {};
    return value.expired();
  }
  /// Five nodes with seven edges.
  Adjacency graph() const {
    const Tensor dst = Tensor::from(std::vector<std::int64_t>{0, 0, 1, 2, 3, 4, 4}, device()),
                 src = Tensor::from(std::vector<std::int64_t>{1, 2, 0, 4, 3, 0, 1}, device());
    return coo_to_csr(dst, src, 5, 5).adj;
  }
};
RODEO_ON_ALL_DEVICES(OpsKeptInputs);

TEST_P(OpsKeptInputs, LinearOpsKeepNone) {
  const Adjacency adj = graph();
  const Variable constant = random({5, 4}), weight = random({7}), w = random({4, 3});
  const Tensor rows = Tensor::from(std::vector<std::int64_t>{4, 0}, device()),
               scale = random_tensor({5}, DType::kF32, device()),
               offsets = Tensor::from(std::vector<std::int64_t>{0, 2, 5}, device());
  const std::pair<const char*, std::function<Variable(const Variable&)>> ops[] = {
      {"add", [&](const Variable& x) { return add(x, constant); }},
      {"cast", [](const Variable& x) { return cast(x, DType::kF64); }},
      {"add_bias", [&](const Variable& x) { return add_bias(x, random({4}, true)); }},
      {"sum_rows", [](const Variable& x) { return sum_rows(x); }},
      {"dropout", [](const Variable& x) { return dropout(x, 0.5, {}); }},
      {"matmul", [&](const Variable& x) { return matmul(x, w); }},
      {"concat_rows",
       [&](const Variable& x) {
         return concat_rows(std::vector{constant, x});
       }},
      {"concat_columns",
       [&](const Variable& x) {
         return concat_columns(std::vector{x, constant});
       }},
      {"linear_combination", [&](const Variable& x) { return linear_combination(2, constant, 3, x); }},
      {"scale_add of x", [&](const Variable& x) { return scale_add(random({1}), x, constant); }},
      {"scale_add of y", [&](const Variable& x) { return scale_add(random({1}, true), constant, x); }},
      {"transpose_last", [](const Variable& x) { return transpose_last(x); }},
      {"columns", [](const Variable& x) { return columns(x, 1, 3); }},
      {"gather_rows", [&](const Variable& x) { return gather_rows(x, rows); }},
      {"scale_rows", [&](const Variable& x) { return scale_rows(x, scale); }},
      {"segment_reduce", [&](const Variable& x) { return segment_reduce(x, offsets, Reduce::kMean); }},
      {"segment_reduce, max", [&](const Variable& x) { return segment_reduce(x, offsets, Reduce::kMax); }},
      {"grouped_linear",
       [&](const Variable& x) {
         return grouped_linear(x, {{0, 0, 5}}, 5, random({1, 4, 2}));
       }},
      {"epilogue", [](const Variable& x) { return epilogue(x, {}, {.activation = Activation::kRelu}); }},
      {"spmm", [&](const Variable& x) { return spmm(adj, x); }},
      {"spmm of a constant weight", [&](const Variable& x) { return spmm(adj, weight, x); }},
      {"spmm, mean", [&](const Variable& x) { return spmm(adj, weight, x, {.reduce = Reduce::kMean}); }},
      {"spmm, max", [&](const Variable& x) { return spmm(adj, weight, x, {.reduce = Reduce::kMax}); }},
      {"sddmm of b1", [&](const Variable& x) { return sddmm(adj, x, constant); }},
      {"sddmm of b2", [&](const Variable& x) { return sddmm(adj, constant, x, SddmmOp::kMul); }}};
  for (const auto& [name, op] : ops) EXPECT_TRUE(frees(op)) << name;
  EXPECT_TRUE(frees([&](const Variable& x) { return spmv(adj, x); }, {5}));
  EXPECT_TRUE(frees([&](const Variable& x) { return spmv(adj, weight, x); }, {5}));
  EXPECT_TRUE(frees([&](const Variable& x) { return edge_sum(adj, x); }, {7, 4}));
  EXPECT_TRUE(frees([&](const Variable& x) { return spmm(adj, x, constant); }, {7}));
  EXPECT_TRUE(frees([&](const Variable& x) { return head_mean(x); }, {5, 2, 4}));
}

TEST_P(OpsKeptInputs, ProductsKeepTheOtherFactor) {
  const Adjacency adj = graph();
  EXPECT_FALSE(frees([&](const Variable& x) { return matmul(x, random({4, 3}, true)); }));
  EXPECT_FALSE(frees([&](const Variable& x) { return spmm(adj, random({7}, true), x); }));
  EXPECT_FALSE(frees([&](const Variable& x) { return sddmm(adj, x, random({5, 4}, true)); }));
  EXPECT_FALSE(frees([&](const Variable& x) { return scale_add(random({1}, true), x, random({5, 4})); }));
}

TEST_P(OpsKeptInputs, RecomputedProductsAreFreed) {
  const Adjacency adj = graph();
  std::vector<Tensor> gradients;
  for (const bool recompute : {false, true}) {
    const Variable x = random({5, 6}, true), w = random({1, 6, 8}, true), w2 = random({1, 6, 2}, true);
    std::vector<Variable> z =
        grouped_products(x, {{.segments = {{0, 0, 5}}, .rows = 5, .w = w, .recompute = recompute},
                             {.segments = {{0, 0, 5}}, .rows = 5, .w = w2}});
    const std::weak_ptr<Storage> value = z[0].value().shared_storage();
    const Variable y = gat_attention(adj, z[1], z[1], reshape(z[0], {5, 2, 4}));
    z.clear();
    EXPECT_EQ(value.expired(), recompute);
    y.backward(Tensor::full({5, 2, 4}, 1, DType::kF32, device()));
    for (const Variable& of : {x, w, w2}) gradients.push_back(of.grad());
  }
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(gradients[i], gradients[i + 3]));
}

TEST_P(OpsKeptInputs, AttentionFreesWhatForwardKeptBeforeItsGradientsAreThere) {
  const Adjacency adj = graph();
  const Shape shape{5, 2, 4096};
  const std::int64_t bytes = shape.numel() * 4;
  const Variable s = random({5, 2}, true), x = random(shape, true);
  const Variable y = head_mean(gat_attention(adj, s, s, x));
  const Tensor seed = Tensor::full(y.shape(), 1, DType::kF32, device());
  const std::int64_t before = memory_stats(device()).current;
  reset_peak_memory(device());
  y.backward(seed);
  // The gradient of attention's result comes; the result and its part from positive scores go; dx comes.
  EXPECT_LT(memory_stats(device()).peak - before, bytes * 3 / 2);
}

TEST_P(OpsKeptInputs, AttentionWhoseGradientFailedHasNoOther) {
  struct Refuses : KernelObserver {
    void before(const KernelCallInfo& call) override {
      check(std::string_view(call.op) != "gat_attention_backward", "refused");
    }
    void after(const KernelCallInfo&) override {}
  } refuses;
  const Variable s = random({5, 2}, true), x = random({5, 2, 4}, true);
  const Variable y = gat_attention(graph(), s, s, x);
  const Tensor seed = Tensor::full(y.shape(), 1, DType::kF32, device());
  {
    const ScopedKernelObserver scope(refuses);
    EXPECT_ERROR(y.backward(seed), "refused");
  }
  EXPECT_ERROR(y.backward(seed),
               "[gat_attention] an earlier backward() failed in its gradient: run forward again");
}

TEST_P(OpsKeptInputs, AWeightThatLearnsAloneKeepsBothOperands) {
  const Adjacency adj = graph();
  const Variable weight = random({7}, true), b1 = random({5, 4}), b2 = random({5, 4});
  sddmm(adj, b1, b2, SddmmOp::kDot, weight).backward(Tensor::full({7}, 1, DType::kF32, device()));
  EXPECT_EQ(doubles(weight.grad()), doubles(sddmm(adj, b1.value(), b2.value())));
}

}  // namespace
}  // namespace rodeo::test
