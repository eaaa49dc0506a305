#include "ops/dot_attention.h"

#include "ops/plan/attention_config.h"
#include "tests/support/attention_reference.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsDotAttention : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsDotAttention);

constexpr RandomKey kKey{7, 3};
constexpr double kInf = std::numeric_limits<double>::infinity();

struct Terms {
  bool bias = false, edge = false;
};

/// q, key, v, bias, edge and dy; the terms that are left out are undefined.
std::vector<Tensor> random_inputs(const Adjacency& adj, std::int64_t heads, std::int64_t k, std::int64_t m,
                                  Terms terms, DType dtype, Device device) {
  const auto make = [&](const Shape& shape, std::uint64_t seed) {
    return random_tensor(shape, dtype, device, seed);
  };
  const std::int64_t edges = adj.num_edges();
  return {make({adj.rows(), heads, k}, 1),
          make({adj.cols(), heads, k}, 2),
          make({adj.cols(), heads, m}, 3),
          terms.bias ? make({edges, heads}, 4) : Tensor(),
          terms.edge ? make({edges, heads, k}, 5) : Tensor(),
          make({adj.rows(), heads, m}, 6)};
}

const std::vector<const char*> kNames{"y", "dq", "dkey", "dv", "dbias", "dedge"};

std::vector<Tensor> run(const Adjacency& adj, const std::vector<Tensor>& in,
                        const AttentionOptions& options) {
  std::vector<Variable> x;
  for (std::size_t i = 0; i < 5; ++i) x.push_back(in[i].defined() ? Variable(in[i], true) : Variable());
  const Variable y = dot_attention(adj, x[0], x[1], x[2], x[3], x[4], options);
  y.backward(in[5]);
  std::vector<Tensor> out{y.value()};
  for (const Variable& of : x) out.push_back(of.defined() ? of.grad() : Tensor());
  return out;
}

std::vector<ReferenceSum> reference(const Adjacency& adj, const std::vector<Tensor>& in,
                                    const AttentionOptions& options) {
  const std::int64_t heads = in[0].dim(1), k = in[0].dim(2), m = in[2].dim(2), edges = adj.num_edges();
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(k)));
  const auto values = [](const Tensor& x) { return x.defined() ? doubles(x) : std::vector<double>(); };
  const auto q = values(in[0]), key = values(in[1]), v = values(in[2]), bias = values(in[3]),
             edge = values(in[4]), dy = values(in[5]);
  const auto at = [&](std::int64_t row, std::int64_t h, std::int64_t width, std::int64_t c) {
    return static_cast<std::size_t>((row * heads + h) * width + c);
  };
  const auto term = [&](std::int64_t e, std::int64_t h, std::int64_t c) {
    return edge.empty() ? 0.0 : edge[at(e, h, k, c)];
  };
  std::vector<ReferenceSum> out;
  for (const std::int64_t n : {adj.rows() * heads * m, adj.rows() * heads * k, adj.cols() * heads * k,
                               adj.cols() * heads * m, edges * heads, edges * heads * k})
    out.emplace_back(n);
  for_each_attending_edge(
      adj, heads, options,
      [&](std::int64_t e, std::int64_t i, std::int64_t j, std::int64_t h) {
        double sum = 0;
        for (std::int64_t c = 0; c < k; ++c) sum += q[at(i, h, k, c)] * (key[at(j, h, k, c)] + term(e, h, c));
        return scale * sum + (bias.empty() ? 0 : bias[static_cast<std::size_t>(e * heads + h)]);
      },
      [&](std::int64_t e, std::int64_t i, std::int64_t j, std::int64_t h, double* size) {
        double sum = 0;
        for (std::int64_t c = 0; c < m; ++c) {
          const double product = dy[at(i, h, m, c)] * (v[at(j, h, m, c)] + term(e, h, c));
          sum += product, *size += std::abs(product);
        }
        return sum;
      },
      [&](const ReferenceEdge& of) {
        const auto [e, i, j, h, weight, ds, size] = of;
        out[4].add(e * heads + h, ds, size);
        for (std::int64_t c = 0; c < m; ++c) {
          const double seed = dy[at(i, h, m, c)];
          out[0].add((i * heads + h) * m + c, weight * (v[at(j, h, m, c)] + term(e, h, c)));
          out[3].add((j * heads + h) * m + c, weight * seed);
          if (m == k) out[5].add((e * heads + h) * k + c, weight * seed);
        }
        for (std::int64_t c = 0; c < k; ++c) {
          const double x = scale * q[at(i, h, k, c)], other = scale * (key[at(j, h, k, c)] + term(e, h, c));
          out[1].add((i * heads + h) * k + c, ds * other, size * other);
          out[2].add((j * heads + h) * k + c, ds * x, size * x);
          out[5].add((e * heads + h) * k + c, ds * x, size * x);
        }
      });
  return out;
}

std::vector<AttentionForm> forms(Device device, std::int64_t k, DType dtype) {
  const bool fused = !device.is_cuda() || k <= most_fused_columns(static_cast<int>(size_of(dtype)));
  if (!fused) return {AttentionForm::kAuto};
  return {AttentionForm::kFused, AttentionForm::kComposed};
}

double tolerance(DType dtype) {
  return dtype == DType::kF64 ? 1e-12 : dtype == DType::kF32 ? 1e-5 : 2 * epsilon(dtype);
}

// Rows around every tile, without edges, and split; columns repeat within a row.
Adjacency many_lengths() {
  return graph_with_lengths({0, 1, 31, 32, 33, 512, 513, 0, 3, 700}, 150);
}

TEST_P(OpsDotAttention, MatchesFloat64) {
  const Adjacency host = many_lengths(), adj = host.to(device());
  struct Case {
    std::int64_t heads, k, m;
    Terms terms;
    double dropout;
  };
  const Case cases[] = {{1, 1, 1, {}, 0},
                        {1, 128, 128, {}, 0.3},
                        {4, 32, 32, {}, 0},
                        {8, 8, 8, {}, 0.6},
                        {3, 7, 7, {}, 0},
                        {2, 41, 41, {}, 0.5},
                        {1, 100, 100, {}, 0},
                        {1, 256, 256, {}, 0},
                        {2, 8, 5, {}, 0.2},
                        {1, 3, 16, {true}, 0},
                        {4, 32, 32, {true}, 0},
                        {8, 8, 8, {true, true}, 0.4},
                        {3, 7, 7, {false, true}, 0},
                        {11, 2, 2, {true}, 0.5},
                        {3, 16, 10, {}, 0},
                        {2, 64, 64, {}, 0.2},
                        {1, 300, 300, {}, 0}};
  for (const Case& c : cases)
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16}) {
      const auto in = random_inputs(host, c.heads, c.k, c.m, c.terms, dtype, device());
      AttentionOptions options{.dropout = c.dropout, .key = kKey, .first_head = c.heads == 11 ? 3 : 0};
      const auto want = reference(host, in, options);
      for (const AttentionForm form : forms(device(), std::max(c.k, c.m), dtype)) {
        if (form != AttentionForm::kFused && size_of(dtype) == 2) continue;  // rounds scores and weights
        options.form = form;
        const Poisoned poisoned;
        const std::string what = str(c.heads, " x ", c.k, " ", c.m, " bias ", c.terms.bias, " edge ",
                                     c.terms.edge, " ", dtype, " ", form);
        const auto got = run(adj, in, options), again = run(adj, in, options);
        expect_near(got, want, kNames, tolerance(dtype), what);
        for (std::size_t i = 0; i < got.size(); ++i) {
          if (got[i].defined()) {
            EXPECT_TRUE(same_bits(got[i], again[i])) << what << " " << kNames[i];
          }
        }
        // Without a record nothing is kept, and nothing else differs.
        EXPECT_TRUE(same_bits(dot_attention(adj, in[0], in[1], in[2], in[3], in[4], options), got[0]))
            << what;
      }
    }
}

TEST_P(OpsDotAttention, MatchesFloat64OnAllGraphs) {
  for (const SparseCase& sparse_case : sparse_cases()) {
    const Adjacency host = sparse_case.make(), adj = host.to(device());
    for (const auto& [heads, k] : {std::pair{1, 8}, {2, 3}}) {
      if (host.num_edges() * heads * k > 2'000'000) continue;
      const auto in = random_inputs(host, heads, k, k, {}, DType::kF32, device());
      for (const AttentionForm form : forms(device(), k, DType::kF32)) {
        const AttentionOptions options{.key = kKey, .form = form};
        const Poisoned poisoned;
        expect_near(run(adj, in, options), reference(host, in, options), kNames, 1e-5,
                    str(sparse_case.name, " ", heads, " x ", k, " ", form));
      }
    }
  }
}

TEST_P(OpsDotAttention, ALongRow) {
  const Adjacency host = graph_with_lengths({3, 100'000, 1}, 5000), adj = host.to(device());
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const auto in = random_inputs(host, 1, 2, 2, {}, dtype, device());
    const AttentionOptions options{.form = AttentionForm::kFused};
    const Poisoned poisoned;
    expect_near(run(adj, in, options), reference(host, in, options), kNames, tolerance(dtype), str(dtype));
  }
}

TEST_P(OpsDotAttention, Gradients) {
  const Adjacency adj = graph_with_lengths({3, 0, 1, 40, 12, 5}, 9).to(device());
  const std::int64_t edges = adj.num_edges();
  for (const AttentionForm form : {AttentionForm::kFused, AttentionForm::kComposed}) {
    const AttentionOptions options{.dropout = 0.4, .key = kKey, .form = form};
    const auto x = [&](const Shape& shape, std::uint64_t seed) {
      return random_variable(shape, device(), seed);
    };
    EXPECT_TRUE(gradients_ok(
        [&](const auto& in) { return dot_attention(adj, in[0], in[1], in[2], in[3], in[4], options); },
        {x({6, 2, 3}, 1), x({9, 2, 3}, 2), x({9, 2, 3}, 3), x({edges, 2}, 4), x({edges, 2, 3}, 5)}))
        << form;
    EXPECT_TRUE(
        gradients_ok([&](const auto& in) { return dot_attention(adj, in[0], in[1], in[2], {}, {}, options); },
                     {x({6, 1, 4}, 1), x({9, 1, 4}, 2), x({9, 1, 2}, 3)}))
        << form;
  }
}

TEST_P(OpsDotAttention, InfiniteScores) {
  const Adjacency host = graph_with_lengths({2, 3, 600, 2, 2, 40}, 50), adj = host.to(device());
  auto in = random_inputs(host, 1, 4, 4, {true}, DType::kF32, kCpu);
  auto bias = in[3].to_vector<float>();
  bias[0] = bias[1] = -INFINITY;    // row 0: no finite score
  bias[2] = -INFINITY;              // row 1: one edge less
  bias[5] = bias[304] = -INFINITY;  // row 2
  bias[605] = INFINITY;             // row 3
  bias[607] = std::nanf("");        // row 4
  in[3] = Tensor::from(bias, in[3].shape());
  const auto cut = [&](std::int64_t row) {  // the row's values without the edges of -inf
    const auto row_ptr = host.csr().row_ptr.to_vector<std::int64_t>();
    const auto col = host.csr().col.to_vector<std::int32_t>();
    std::vector<std::int32_t> left;
    std::vector<float> left_bias;
    for (std::int64_t e = row_ptr[row]; e < row_ptr[row + 1]; ++e)
      if (bias[e] != -INFINITY) left.push_back(col[e]), left_bias.push_back(bias[e]);
    const auto edges = static_cast<std::int64_t>(left.size());
    const Adjacency of({1, 50, Tensor::from(std::vector<std::int64_t>{0, edges}), Tensor::from(left)});
    return doubles(
        dot_attention(of, in[0].slice(row, row + 1), in[1], in[2], Tensor::from(left_bias, {edges, 1})));
  };
  const std::vector<double> short_row = cut(1), long_row = cut(2);
  for (Tensor& x : in) x = x.defined() ? x.to(device()) : x;
  for (const AttentionForm form : {AttentionForm::kFused, AttentionForm::kComposed}) {
    const Poisoned poisoned;
    const auto got = run(adj, in, {.form = form});
    const auto y = doubles(got[0]), dq = doubles(got[1]), dbias = doubles(got[4]);
    for (std::size_t c = 0; c < 4; ++c) {
      EXPECT_EQ(y[c], 0) << form;
      EXPECT_EQ(dq[c], 0) << form;
      EXPECT_NEAR(y[4 + c], short_row[c], 1e-6) << form;
      EXPECT_NEAR(y[8 + c], long_row[c], 1e-6) << form;
      EXPECT_TRUE(std::isnan(y[12 + c]) && std::isnan(y[16 + c])) << form;
      EXPECT_TRUE(std::isfinite(y[20 + c]) && std::isfinite(dq[20 + c])) << form;
    }
    EXPECT_EQ(dbias[0], 0) << form;
    EXPECT_EQ(dbias[2], 0) << form;
  }
  // Huge scores do not overflow: the largest one has all the weight.
  const auto y = doubles(dot_attention(adj, in[0], in[1], in[2], {}, {}, {.scale = 1e30}));
  for (const double value : y) EXPECT_LE(std::abs(value), 1) << value;
}

TEST_P(OpsDotAttention, EqualScoresAreAMean) {
  const Adjacency host = graph_with_lengths({1, 0, 64, 513}, 100), adj = host.to(device());
  auto in = random_inputs(host, 2, 8, 8, {}, DType::kF64, device());
  in[0].fill(0);
  for (const AttentionForm form : {AttentionForm::kFused, AttentionForm::kComposed}) {
    const auto got = run(adj, in, {.form = form});
    expect_near(got, reference(host, in, {}), kNames, 1e-12, str(form));
    const auto y = doubles(got[0]), v = doubles(in[2]);
    const auto col = host.csr().col.to_vector<std::int32_t>();
    for (std::size_t c = 0; c < 16; ++c) {
      EXPECT_NEAR(y[c], v[static_cast<std::size_t>(col[0]) * 16 + c], 1e-15);
      EXPECT_EQ(y[16 + c], 0);
    }
  }
}

TEST_P(OpsDotAttention, StateOfForwardIsThatOfTheOperator) {
  const Adjacency host = graph_with_lengths({3, 0, 40, 600}, 20), adj = host.to(device());
  const AttentionOptions options{.dropout = 0.3, .key = kKey, .scale = 0.7};
  const auto in = random_inputs(host, 2, 8, 8, {true, true}, DType::kF32, device());
  const auto want = run(adj, in, options);
  const DotAttentionOperands operands{in[0], in[1], in[2], in[3], in[4]};
  const AttentionState state = dot_attention_forward(adj, operands, options);
  const DotAttentionOperands d = dot_attention_gradients(adj, operands, state, in[5], options);
  std::size_t i = 0;
  for (const Tensor& of : {state.y, d.q, d.key, d.v, d.bias, d.edge})
    EXPECT_TRUE(same_bits(of, want[i++])) << i;
  EXPECT_EQ(doubles(state.lse)[2], double{std::numeric_limits<float>::max()});  // a row without edges
  // Without edges nothing is computed.
  const Adjacency none = graph_with_lengths({0, 0}, 3).to(device());
  const auto x = random_inputs(none, 2, 4, 4, {}, DType::kF32, device());
  const AttentionState empty = dot_attention_forward(none, {x[0], x[1], x[2]});
  for (const double value : doubles(empty.y)) EXPECT_EQ(value, 0);
  for (const double value : doubles(dot_attention_gradients(none, {x[0], x[1], x[2]}, empty, x[5]).key))
    EXPECT_EQ(value, 0);
}

TEST_P(OpsDotAttention, Errors) {
  const Adjacency adj = graph_with_lengths({2, 1}, 3).to(device());
  const auto f32 = [&](const Shape& shape) { return Tensor::zeros(shape, DType::kF32, device()); };
  const Tensor q = f32({2, 4, 5}), key = f32({3, 4, 5}), v = f32({3, 4, 6});
  EXPECT_ERROR(dot_attention(adj, f32({2, 20}), key, v),
               "[dot_attention] q must be [2, heads, k], got [2, 20]");
  EXPECT_ERROR(dot_attention(adj, key, key, v), "[dot_attention] q must be [2, 4, k], got [3, 4, 5]");
  EXPECT_ERROR(dot_attention(adj, q, q, v), "[dot_attention] key must be [3, 4, 5], got [2, 4, 5]");
  EXPECT_ERROR(dot_attention(adj, q, key, f32({3, 2, 6})),
               "[dot_attention] v must be [3, 4, m], got [3, 2, 6]");
  EXPECT_ERROR(dot_attention(adj, q, key.to(DType::kF64), v),
               "[dot_attention] key must have the dtype of q, f32, got f64");
  EXPECT_ERROR(dot_attention(adj, q, key, v, f32({3, 2})), "[dot_attention] bias must be [3, 4], got [3, 2]");
  EXPECT_ERROR(dot_attention(adj, q, key, v, {}, f32({3, 4, 6})),
               "[dot_attention] edge must be [3, 4, 5], got [3, 4, 6]");
  EXPECT_ERROR(dot_attention(adj, q, key, v, {}, f32({3, 4, 5})),
               "[dot_attention] edge is added to key and v: v must be [3, 4, 5], got [3, 4, 6]");
  EXPECT_ERROR(dot_attention(adj, q, key, v, {}, {}, {.dropout = 1}),
               "[dot_attention] dropout must be in [0, 1), got 1");
  EXPECT_ERROR(dot_attention(adj, q, key, v, {}, {}, {.scale = kInf}),
               "[dot_attention] scale must be finite, got inf");
  if (device().is_cuda()) {
    EXPECT_ERROR(dot_attention(adj, f32({2, 1, 257}), f32({3, 1, 257}), f32({3, 1, 257}), {}, {},
                               {.form = AttentionForm::kFused}),
                 str("[dot_attention] the fused form on ", device(),
                     " takes heads of at most 256 elements of f32, got 257: choose auto or composed"));
  }
}

}  // namespace
}  // namespace rodeo::test
