// Operators of 16-bit values with f32 parameters: the results are those of float64 but for the rounding of
// what is stored in 16 bits, and a parameter's gradient has f32's precision.
#include <algorithm>

#include "ops/attention.h"
#include "ops/bce.h"
#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/dense_csr.h"
#include "ops/epilogue.h"
#include "ops/features.h"
#include "ops/gcn_norm.h"
#include "ops/heads.h"
#include "ops/loss.h"
#include "ops/norm.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsMixed : public OnDevice {
 protected:
  using Function = std::function<Variable(const Variable& x, const std::vector<Variable>& parameters)>;
  struct Bounds {
    double x = 1;          // of dx, in units of the last place of the largest element
    bool rounded = false;  // dp has been rounded to 16 bits
  };

  static double largest(const std::vector<double>& values) {
    double most = 0;
    for (const double v : values) most = std::max(most, std::abs(v));
    return most;
  }

  /// f of 16-bit x and f32 parameters against f in float64 of the same numbers. The parameters are numbers of
  /// 16 bits, so that rounding those of products changes nothing.
  static void expect_near_f64(const Function& f, const Shape& shape, const std::vector<Shape>& parameters,
                              const Bounds& bounds) {
    const Poisoned poisoned;
    for (const DType dtype : {DType::kBF16, DType::kF16}) {
      SCOPED_TRACE(name(dtype));
      const double eps = epsilon(dtype);
      const Variable x(random_tensor(shape, dtype, device(), 1), true), x64(x.value().to(DType::kF64), true);
      std::vector<Variable> p, p64;
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const Tensor value = random_tensor(parameters[i], dtype, device(), 10 + i);
        p.emplace_back(value.to(DType::kF32), true);
        p64.emplace_back(value.to(DType::kF64), true);
      }
      const Variable y = f(x, p), y64 = f(x64, p64);
      EXPECT_EQ(y.dtype(), dtype);
      const std::vector<double> want = doubles(y64.value());
      EXPECT_TRUE(near(y.value(), want, eps, bounds.x * eps * largest(want)));
      const Tensor dy = random_tensor(y.shape(), dtype, device(), 5);
      y.backward(dy);
      y64.backward(dy.to(DType::kF64));
      EXPECT_EQ(x.grad().dtype(), dtype);
      const std::vector<double> dx = doubles(x64.grad());
      EXPECT_TRUE(near(x.grad(), dx, eps, bounds.x * eps * largest(dx)));
      for (std::size_t i = 0; i < p.size(); ++i) {
        SCOPED_TRACE(i);
        EXPECT_EQ(p[i].grad().dtype(), DType::kF32);
        const std::vector<double> dp = doubles(p64[i].grad());
        EXPECT_TRUE(near(p[i].grad(), dp, 0, (bounds.rounded ? eps : 1e-5) * largest(dp)));
      }
    }
  }
};
RODEO_ON_ALL_DEVICES(OpsMixed);

TEST_P(OpsMixed, Products) {
  constexpr Transpose n = Transpose::kNo, t = Transpose::kYes;
  expect_near_f64([](const Variable& x, const auto& p) { return matmul(x, p[0]); }, {5000, 33}, {{33, 16}},
                  {});
  expect_near_f64([](const Variable& x, const auto& p) { return matmul(x, p[0], n, t); }, {70, 32},
                  {{24, 32}}, {});
  expect_near_f64([](const Variable& x, const auto& p) { return matmul(x, p[0], t, n); }, {40, 7}, {{40, 9}},
                  {});
  expect_near_f64([](const Variable& x, const auto& p) { return matmul(x, p[0], t, t); }, {40, 7}, {{9, 40}},
                  {});
  expect_near_f64([](const Variable& x, const auto& p) { return matmul(p[0], x); }, {40, 7}, {{9, 40}}, {});
  expect_near_f64(
      [](const Variable& x, const auto& p) { return epilogue(matmul_padded(x, p[0], 16), {}, {}, 13); },
      {300, 64}, {{64, 13}}, {});
}

TEST_P(OpsMixed, AProductRoundsTheOtherFactorOnce) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    const Tensor x = random_tensor({20, 30}, dtype, device(), 1),
                 w = random_tensor({30, 8}, DType::kF32, device(), 2);
    EXPECT_TRUE(same_bits(matmul(x, w), matmul(x, w.to(dtype))));
    EXPECT_TRUE(same_bits(matmul_padded(x, w, 16), matmul_padded(x, w.to(dtype), 16)));
    const Features entries = sparse_features(dense_to_csr(x).adj, dense_to_csr(x).weight);
    EXPECT_TRUE(
        same_bits(matmul(entries, Variable(w)).value(), matmul(entries, Variable(w.to(dtype))).value()));
  }
}

TEST_P(OpsMixed, SparseFeatures) {
  const Adjacency adj = graph_with_lengths({3, 0, 200, 5, 1, 64, 0, 2}, 40).to(device());
  const Tensor value = random_tensor({adj.num_edges()}, DType::kBF16, device(), 3),
               scale = random_tensor({8}, DType::kF32, device(), 4);
  const Tensor w = random_tensor({40, 12}, DType::kBF16, device(), 5),
               dy = random_tensor({8, 12}, DType::kBF16, device(), 6);
  const auto run = [&](DType values, DType weights, DType scales) {
    const Variable p(w.to(weights), true);
    const Features x = dropout(sparse_features(adj, value.to(values)), 0.5, {7, 1}, scale.to(scales));
    const Variable y = matmul(x, p);
    y.backward(dy.to(values));
    return std::pair{y.value(), p.grad()};
  };
  const auto [y, dw] = run(DType::kBF16, DType::kF32, DType::kF32);
  const auto [y64, dw64] = run(DType::kF64, DType::kF64, DType::kF64);
  EXPECT_EQ(y.dtype(), DType::kBF16);
  EXPECT_EQ(dw.dtype(), DType::kF32);
  // The entries times their scale are rounded, and so is the sum: two halves of a unit, relative to the
  // terms.
  const double eps = epsilon(DType::kBF16);
  const Tensor sizes = csr_to_dense(adj, Tensor::full({adj.num_edges()}, 2, DType::kF64, device()));
  const auto terms = doubles(matmul(sizes, Tensor::full({40, 12}, 1, DType::kF64, device())));
  EXPECT_TRUE(near(y, doubles(y64), eps, 1e-6, terms));
  EXPECT_TRUE(near(dw, doubles(dw64), eps, eps * 4));
}

TEST_P(OpsMixed, FeaturesChangeTheirType) {
  const Tensor x = random_tensor({9, 40}, DType::kF32, device(), 1);
  const Tensor rounded = x.to(DType::kBF16);
  const Features dense = Features(x).to(DType::kBF16);
  EXPECT_TRUE(same_bits(dense.dense().value(), rounded));
  const Features sparse = sparse_features(dense_to_csr(x).adj, dense_to_csr(x).weight);
  const Features narrow = sparse.to(DType::kBF16);
  EXPECT_TRUE(same_bits(csr_to_dense(narrow.entries(), narrow.values()), rounded));
  const Variable w(random_tensor({40, 3}, DType::kF32, device(), 2), true);
  const Tensor dy = random_tensor({9, 3}, DType::kBF16, device(), 3);
  matmul(narrow, w).backward(dy);
  EXPECT_TRUE(near(w.grad(), doubles(matmul(rounded.to(DType::kF32), dy.to(DType::kF32), Transpose::kYes)),
                   epsilon(DType::kBF16), 1e-5));
  EXPECT_EQ(sparse.to(DType::kF32).values().raw(), sparse.values().raw());
  EXPECT_ERROR(Features(Variable(x, true)).to(DType::kBF16),
               "[features] to() of features that require a gradient: cast() has one");
  EXPECT_ERROR(dense.to(DType::kI32), "[features] must be floating point, not i32");
}

TEST_P(OpsMixed, BiasesAndScales) {
  expect_near_f64([](const Variable& x, const auto& p) { return add_bias(x, p[0]); }, {3000, 17}, {{17}}, {});
  expect_near_f64([](const Variable& x, const auto& p) { return scale_add(p[0], x, x); }, {300, 17}, {{1}},
                  {});
  // The gradient of elu() is read from its 16-bit result.
  for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kElu})
    for (const double p : {0.0, 0.5})
      for (const std::int64_t n : {13, 16})
        expect_near_f64(
            [&](const Variable& x, const auto& parameters) {
              const DType dtype = parameters[0].dtype();
              // Positive, as a factor after relu() is. Powers of two: what relu() looks at has the sign of
              // float64.
              std::vector<float> scale;
              for (int i = 0; i < 500; ++i) scale.push_back(static_cast<float>(1 << i % 4) / 2);
              const Tensor s = Tensor::from(scale, x.device()).to(dtype);
              EpilogueOptions o{.pre_scale = s, .activation = activation, .dropout = p, .key = {3, 1}};
              if (activation != Activation::kElu) o.post_scale = s;
              return epilogue(x, parameters[0], o);
            },
            {500, n}, {{n}}, {.rounded = activation == Activation::kElu});
  const Tensor x = random_tensor({40, 6}, DType::kBF16, device()),
               s = random_tensor({40}, DType::kF32, device());
  EXPECT_TRUE(near(scale_rows(x, s), doubles(scale_rows(x.to(DType::kF64), s.to(DType::kF64))),
                   epsilon(DType::kBF16)));
}

TEST_P(OpsMixed, Norms) {
  expect_near_f64(
      [](const Variable& x, const auto& p) {
        const DType stats = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
        const RunningStats running{Tensor::zeros({12}, stats, x.device()),
                                   Tensor::full({12}, 1, stats, x.device())};
        return batch_norm(x, p[0], p[1], running);
      },
      {500, 12}, {{12}, {12}}, {});
  expect_near_f64([](const Variable& x, const auto& p) { return layer_norm(x, p[0], p[1]); }, {500, 12},
                  {{12}, {12}}, {});
}

TEST_P(OpsMixed, Heads) {
  for (const std::int64_t k : {5, 8})  // by elements, and 16 bytes at a time
    expect_near_f64([](const Variable& x, const auto& p) { return head_dot(x, p[0]); }, {2000, 4, k},
                    {{4, k}}, {});
}

TEST_P(OpsMixed, Attention) {
  const EdgeList edges = csr_to_coo(graph_with_lengths({3, 0, 30, 5, 1, 64, 0, 2, 9, 12}, 10).to(device()));
  const Adjacency adj = add_self_loops(coo_to_csr(edges.row, edges.col, 10, 10).adj).adj;
  // Scores are rounded to 16 bits: an error of half a unit of a score of up to 4 is one of 2 units in a
  // weight; their gradients, sums over the edges, are rounded as well.
  for (const std::int64_t k : {5, 8})
    expect_near_f64(
        [&](const Variable& x, const auto& p) {
          return gat_self_attention(adj, x, p[0], p[1], {.dropout = 0.25, .key = {3, 1}});
        },
        {10, 4, k}, {{4, k}, {4, k}}, {.x = 8, .rounded = true});
}

TEST_P(OpsMixed, LossesOf16BitScoresAreF32) {
  const Tensor label = Tensor::from(std::vector<std::int64_t>{2, 0, 1, 1}, device()),
               index = Tensor::from(std::vector<std::int64_t>{3, 0, 1}, device());
  const Tensor target = Tensor::full({4, 3}, 1, DType::kU8, device());
  const auto compare = [&](const std::function<Variable(const Variable&)>& loss_of) {
    for (const DType dtype : {DType::kBF16, DType::kF16}) {
      const Variable x(random_tensor({4, 3}, dtype, device(), 2), true), x64(x.value().to(DType::kF64), true);
      const Variable loss = loss_of(x), loss64 = loss_of(x64);
      EXPECT_EQ(loss.dtype(), DType::kF32);
      EXPECT_NEAR(loss.value().item(), loss64.value().item(), 1e-6);
      loss.backward();
      loss64.backward();
      EXPECT_EQ(x.grad().dtype(), dtype);
      EXPECT_TRUE(near(x.grad(), doubles(x64.grad()), epsilon(dtype), 1e-6));
    }
  };
  compare([&](const Variable& x) { return cross_entropy(x, label, index); });
  compare([&](const Variable& x) { return nll_loss(x, label, index); });
  compare([&](const Variable& x) { return bce_with_logits(x, target, index); });
}

TEST_P(OpsMixed, CastsHaveGradients) {
  const Variable x(random_tensor({3, 4}, DType::kF32, device()), true);
  const Variable y = cast(x, DType::kBF16);
  EXPECT_TRUE(same_bits(y.value(), x.value().to(DType::kBF16)));
  const Tensor dy = random_tensor({3, 4}, DType::kBF16, device(), 2);
  y.backward(dy);
  EXPECT_TRUE(same_bits(x.grad(), dy.to(DType::kF32)));
  EXPECT_ERROR(cast(x, DType::kI64), "[cast] x must be floating point, and so must i64 be");
}

TEST_P(OpsMixed, OtherMixturesAreErrors) {
  const auto tensor = [](const Shape& shape, DType dtype) { return Tensor::zeros(shape, dtype, device()); };
  EXPECT_ERROR(matmul(tensor({2, 3}, DType::kF32), tensor({3, 2}, DType::kF64)),
               "[matmul] b must have the dtype of a, f32, got f64");
  EXPECT_ERROR(matmul(tensor({2, 3}, DType::kBF16), tensor({3, 2}, DType::kF16)),
               "[matmul] a must have the dtype of b, f16, got bf16");
  EXPECT_ERROR(add_bias(tensor({2, 3}, DType::kF32), tensor({3}, DType::kBF16)),
               "[add_bias] b must have the dtype of x, f32, got bf16");
  EXPECT_ERROR(epilogue(tensor({2, 3}, DType::kBF16), tensor({3}, DType::kF64), {}),
               "[epilogue] bias must have the dtype of x, bf16, got f64");
  EXPECT_ERROR(scale_rows(tensor({2, 3}, DType::kF64), tensor({2}, DType::kF32)),
               "[scale_rows] s must have the dtype of x, f64, got f32");
}

}  // namespace
}  // namespace rodeo::test
