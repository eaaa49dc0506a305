#include "ops/gatv2_attention.h"

#include "ops/plan/attention_config.h"
#include "tests/support/attention_reference.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsGatv2Attention : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsGatv2Attention);

constexpr RandomKey kScoreKey{7, 3};

/// l, r, a, edge (undefined if left out) and dy.
std::vector<Tensor> random_inputs(const Adjacency& adj, std::int64_t heads, std::int64_t k, bool edge,
                                  DType dtype, Device device) {
  const auto make = [&](const Shape& shape, std::uint64_t seed) {
    return random_tensor(shape, dtype, device, seed);
  };
  return {make({adj.rows(), heads, k}, 1), make({adj.cols(), heads, k}, 2), make({heads, k}, 3),
          edge ? make({adj.num_edges(), heads, k}, 4) : Tensor(), make({adj.rows(), heads, k}, 5)};
}

const std::vector<const char*> kNames{"y", "dl", "dr", "da", "dedge"};

std::vector<Tensor> run(const Adjacency& adj, const std::vector<Tensor>& in,
                        const AttentionOptions& options) {
  std::vector<Variable> x;
  for (std::size_t i = 0; i < 4; ++i) x.push_back(in[i].defined() ? Variable(in[i], true) : Variable());
  const Variable y = gatv2_attention(adj, x[0], x[1], x[2], x[3], options);
  y.backward(in[4]);
  std::vector<Tensor> out{y.value()};
  for (const Variable& of : x) out.push_back(of.defined() ? of.grad() : Tensor());
  return out;
}

std::vector<ReferenceSum> reference(const Adjacency& adj, const std::vector<Tensor>& in,
                                    const AttentionOptions& options) {
  const std::int64_t heads = in[0].dim(1), k = in[0].dim(2);
  const double slope = options.negative_slope;
  const auto l = doubles(in[0]), r = doubles(in[1]), a = doubles(in[2]), dy = doubles(in[4]);
  const auto edge = in[3].defined() ? doubles(in[3]) : std::vector<double>();
  const auto at = [&](std::int64_t row, std::int64_t h, std::int64_t c) {
    return static_cast<std::size_t>((row * heads + h) * k + c);
  };
  const auto sum_of = [&](std::int64_t e, std::int64_t i, std::int64_t j, std::int64_t h, std::int64_t c) {
    return l[at(i, h, c)] + r[at(j, h, c)] + (edge.empty() ? 0 : edge[at(e, h, c)]);
  };
  std::vector<ReferenceSum> out;
  for (const std::int64_t rows : {adj.rows(), adj.rows(), adj.cols(), std::int64_t{1}, adj.num_edges()})
    out.emplace_back(rows * heads * k);
  for_each_attending_edge(
      adj, heads, options,
      [&](std::int64_t e, std::int64_t i, std::int64_t j, std::int64_t h) {
        double sum = 0;
        for (std::int64_t c = 0; c < k; ++c) {
          const double z = sum_of(e, i, j, h, c);
          sum += a[at(0, h, c)] * (z > 0 ? z : slope * z);
        }
        return sum;
      },
      [&](std::int64_t, std::int64_t i, std::int64_t j, std::int64_t h, double* size) {
        double sum = 0;
        for (std::int64_t c = 0; c < k; ++c) {
          const double product = dy[at(i, h, c)] * r[at(j, h, c)];
          sum += product, *size += std::abs(product);
        }
        return sum;
      },
      [&](const ReferenceEdge& of) {
        const auto [e, i, j, h, weight, ds, size] = of;
        for (std::int64_t c = 0; c < k; ++c) {
          const double z = sum_of(e, i, j, h, c), lead = z > 0 ? 1 : slope, factor = a[at(0, h, c)] * lead;
          const auto row = (i * heads + h) * k + c, col = (j * heads + h) * k + c;
          out[0].add(row, weight * r[at(j, h, c)]);
          out[1].add(row, ds * factor, size * factor);
          out[2].add(col, ds * factor, size * factor);
          out[2].add(col, weight * dy[at(i, h, c)]);
          out[3].add(h * k + c, ds * lead * z, size * lead * z);
          out[4].add((e * heads + h) * k + c, ds * factor, size * factor);
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

TEST_P(OpsGatv2Attention, MatchesFloat64) {
  // Rows around every tile, without edges, and split; columns repeat within a row.
  const Adjacency host = graph_with_lengths({0, 1, 31, 32, 33, 512, 513, 0, 3, 700}, 150),
                  adj = host.to(device());
  struct Case {
    std::int64_t heads, k;
    bool edge;
    double dropout;
  };
  const Case cases[] = {{1, 1, false, 0},  {1, 128, false, 0.3}, {4, 32, false, 0},   {8, 8, false, 0.6},
                        {3, 7, false, 0},  {2, 41, false, 0.5},  {1, 100, false, 0},  {1, 256, false, 0},
                        {8, 8, true, 0.4}, {3, 7, true, 0},      {11, 2, false, 0.5}, {1, 128, true, 0},
                        {3, 16, false, 0}, {2, 64, false, 0.2},  {1, 300, false, 0}};
  for (const Case& c : cases)
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16}) {
      const auto in = random_inputs(host, c.heads, c.k, c.edge, dtype, device());
      AttentionOptions options{.dropout = c.dropout, .key = kScoreKey, .first_head = c.heads == 11 ? 3 : 0};
      const auto want = reference(host, in, options);
      for (const AttentionForm form : forms(device(), c.k, dtype)) {
        if (form != AttentionForm::kFused && size_of(dtype) == 2) continue;  // rounds scores and weights
        options.form = form;
        const Poisoned poisoned;
        const std::string what = str(c.heads, " x ", c.k, " edge ", c.edge, " ", dtype, " ", form);
        const auto got = run(adj, in, options), again = run(adj, in, options);
        expect_near(got, want, kNames, tolerance(dtype), what);
        for (std::size_t i = 0; i < got.size(); ++i) {
          if (got[i].defined()) {
            EXPECT_TRUE(same_bits(got[i], again[i])) << what << " " << kNames[i];
          }
        }
        EXPECT_TRUE(same_bits(gatv2_attention(adj, in[0], in[1], in[2], in[3], options), got[0])) << what;
      }
    }
}

TEST_P(OpsGatv2Attention, MatchesFloat64OnAllGraphs) {
  for (const SparseCase& sparse_case : sparse_cases()) {
    const Adjacency host = sparse_case.make(), adj = host.to(device());
    if (host.num_edges() > 200'000) continue;
    const auto in = random_inputs(host, 2, 3, false, DType::kF32, device());
    const AttentionOptions options{.key = kScoreKey, .form = AttentionForm::kFused};
    const Poisoned poisoned;
    expect_near(run(adj, in, options), reference(host, in, options), kNames, 1e-5, sparse_case.name);
  }
}

TEST_P(OpsGatv2Attention, ALongRow) {
  const Adjacency host = graph_with_lengths({3, 100'000, 1}, 5000), adj = host.to(device());
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const auto in = random_inputs(host, 1, 2, false, dtype, device());
    const AttentionOptions options{.form = AttentionForm::kFused};
    const Poisoned poisoned;
    expect_near(run(adj, in, options), reference(host, in, options), kNames, tolerance(dtype), str(dtype));
  }
}

TEST_P(OpsGatv2Attention, Gradients) {
  const Adjacency adj = graph_with_lengths({3, 0, 1, 40, 12, 5}, 9).to(device());
  for (const AttentionForm form : {AttentionForm::kFused, AttentionForm::kComposed}) {
    const AttentionOptions options{.dropout = 0.4, .key = kScoreKey, .form = form};
    const auto x = [&](const Shape& shape, std::uint64_t seed) {
      return random_variable(shape, device(), seed);
    };
    EXPECT_TRUE(gradients_ok(
        [&](const auto& in) { return gatv2_attention(adj, in[0], in[1], in[2], in[3], options); },
        {x({6, 2, 3}, 1), x({9, 2, 3}, 2), x({2, 3}, 3), x({adj.num_edges(), 2, 3}, 4)}))
        << form;
    EXPECT_TRUE(
        gradients_ok([&](const auto& in) { return gatv2_attention(adj, in[0], in[1], in[2], {}, options); },
                     {x({6, 1, 4}, 1), x({9, 1, 4}, 2), x({1, 4}, 3)}))
        << form;
  }
}

TEST_P(OpsGatv2Attention, StateAndVectorsOf32Bits) {
  const Adjacency host = graph_with_lengths({3, 0, 40, 600}, 20), adj = host.to(device());
  const AttentionOptions options{.dropout = 0.3, .key = kScoreKey};
  auto in = random_inputs(host, 2, 8, true, DType::kBF16, device());
  in[2] = in[2].to(DType::kF32);
  const auto want = run(adj, in, options);
  const Gatv2AttentionOperands operands{in[0], in[1], in[2], in[3]};
  const AttentionState state = gatv2_attention_forward(adj, operands, options);
  const Gatv2AttentionOperands d = gatv2_attention_gradients(adj, operands, state, in[4], options);
  EXPECT_EQ(d.a.dtype(), DType::kF32);
  std::size_t i = 0;
  for (const Tensor& of : {state.y, d.l, d.r, d.a, d.edge}) EXPECT_TRUE(same_bits(of, want[i++])) << i;
}

TEST_P(OpsGatv2Attention, ScoresThatAreNotFinite) {
  const Adjacency host = graph_with_lengths({2, 3, 600}, 50), adj = host.to(device());
  for (const AttentionForm form : {AttentionForm::kFused, AttentionForm::kComposed}) {
    auto in = random_inputs(host, 1, 4, true, DType::kF32, kCpu);
    auto edge = in[3].to_vector<float>();
    const float lead = in[2].to_vector<float>()[0];
    // -inf through either branch of LeakyReLU, then +inf in another row.
    edge[0] = edge[4] = edge[8] = lead > 0 ? -INFINITY : INFINITY;
    edge[20 * 4] = -edge[0];
    in[3] = Tensor::from(edge, in[3].shape());
    for (Tensor& x : in) x = x.to(device());
    const auto y = doubles(gatv2_attention(adj, in[0], in[1], in[2], in[3], {.form = form}));
    for (std::size_t c = 0; c < 4; ++c) {
      EXPECT_EQ(y[c], 0) << form;
      EXPECT_TRUE(std::isfinite(y[4 + c])) << form;
      EXPECT_TRUE(std::isnan(y[8 + c])) << form;
    }
  }
}

TEST_P(OpsGatv2Attention, Errors) {
  const Adjacency adj = graph_with_lengths({2, 1}, 3).to(device());
  const auto f32 = [&](const Shape& shape) { return Tensor::zeros(shape, DType::kF32, device()); };
  const Tensor l = f32({2, 4, 5}), r = f32({3, 4, 5}), a = f32({4, 5});
  EXPECT_ERROR(gatv2_attention(adj, r, r, a), "[gatv2_attention] l must be [2, heads, k], got [3, 4, 5]");
  EXPECT_ERROR(gatv2_attention(adj, l, l, a), "[gatv2_attention] r must be [3, 4, 5], got [2, 4, 5]");
  EXPECT_ERROR(gatv2_attention(adj, l, r, f32({5, 4})), "[gatv2_attention] a must be [4, 5], got [5, 4]");
  EXPECT_ERROR(gatv2_attention(adj, l, r, a, f32({3, 4})),
               "[gatv2_attention] edge must be [3, 4, 5], got [3, 4]");
  EXPECT_ERROR(gatv2_attention(adj, l, r, a, {}, {.negative_slope = -1}),
               "[gatv2_attention] negative_slope must be finite and at least 0, got -1");
}

}  // namespace
}  // namespace rodeo::test
