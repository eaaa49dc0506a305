#include "ops/attention.h"

#include <algorithm>
#include <limits>

#include "ops/combine.h"
#include "ops/dense.h"
#include "ops/edge_dropout.h"
#include "ops/edge_softmax.h"
#include "ops/heads.h"
#include "ops/sddmm.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsAttention : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsAttention);

constexpr RandomKey kKey{7, 3};
const std::vector<AttentionForm> kForms{AttentionForm::kFused, AttentionForm::kComposed};

/// y, ds, dt and dx.
using Results = std::vector<Tensor>;

Results run(const Adjacency& adj, const std::vector<Tensor>& in, const Tensor& dy,
            const AttentionOptions& options) {
  const Variable s(in[0], true), t(in[1], true), x(in[2], true);
  const Variable y = gat_attention(adj, s, t, x, options);
  y.backward(dy);
  return {y.value(), s.grad(), t.grad(), x.grad()};
}

/// Results in float64, as the formulas stand, and what rounding is relative to.
struct Reference {
  std::vector<double> value[4], scale[4];
};

Reference reference(const Adjacency& adj, const std::vector<Tensor>& in, const Tensor& seed,
                    const AttentionOptions& options) {
  const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
  const auto col = adj.csr().col.to_vector<std::int32_t>();
  const auto s = doubles(in[0]), t = doubles(in[1]), x = doubles(in[2]), dy = doubles(seed);
  const std::int64_t heads = in[2].dim(1), k = in[2].dim(2);
  const double slope = options.negative_slope;
  Reference out;
  const std::size_t sizes[] = {dy.size(), s.size(), t.size(), x.size()};
  for (int i = 0; i < 4; ++i) out.value[i].resize(sizes[i]), out.scale[i].resize(sizes[i]);
  const auto add = [&](int what, std::int64_t at, double term, double size) {
    out.value[what][static_cast<std::size_t>(at)] += term;
    out.scale[what][static_cast<std::size_t>(at)] += size;
  };
#pragma omp parallel for if (col.size() > 2048)  // heads write disjoint elements
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t i = 0; i < adj.rows(); ++i) {
      const std::int64_t first = row_ptr[i], last = row_ptr[i + 1], ih = i * heads + h;
      const auto sum_at = [&](std::int64_t e) { return s[ih] + t[col[e] * heads + h]; };
      const auto score = [&](std::int64_t e) { return sum_at(e) > 0 ? sum_at(e) : slope * sum_at(e); };
      double top = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::int64_t e = first; e < last; ++e) top = std::max(top, score(e));
      for (std::int64_t e = first; e < last; ++e) sum += std::exp(score(e) - top);
      struct Edge {
        double a, mask, dot, size;
      };
      std::vector<Edge> edges;
      double all = 0, all_size = 0;  // <dy_i, y_i>
      for (std::int64_t e = first; e < last; ++e) {
        const Philox4 words =
            edge_words(kKey, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(col[e]),
                       static_cast<std::uint32_t>(h / 4));
        const bool kept =
            options.dropout == 0 || to_unit(words.word[h % 4]) >= static_cast<float>(options.dropout);
        Edge edge{std::exp(score(e) - top) / sum, kept ? 1 / (1 - options.dropout) : 0, 0, 0};
        for (std::int64_t j = 0; j < k; ++j) {
          const std::int64_t xj = (col[e] * heads + h) * k + j, yj = ih * k + j;
          const double weight = edge.a * edge.mask;
          add(0, yj, weight * x[xj], weight * std::abs(x[xj]));
          add(3, xj, weight * dy[yj], weight * std::abs(dy[yj]));
          edge.dot += edge.mask * dy[yj] * x[xj], edge.size += edge.mask * std::abs(dy[yj] * x[xj]);
        }
        all += edge.a * edge.dot, all_size += edge.a * edge.size;
        edges.push_back(edge);
      }
      for (std::int64_t e = first; e < last; ++e) {
        const Edge& edge = edges[static_cast<std::size_t>(e - first)];
        const double a = edge.a * (sum_at(e) > 0 ? 1 : slope);
        add(1, ih, a * (edge.dot - all), edge.a * (edge.size + all_size));
        add(2, col[e] * heads + h, a * (edge.dot - all), edge.a * (edge.size + all_size));
      }
    }
  return out;
}

std::vector<Tensor> random_inputs(const Adjacency& adj, std::int64_t heads, std::int64_t k, DType dtype,
                                  Device device) {
  return {random_tensor({adj.rows(), heads}, dtype, device, 1),
          random_tensor({adj.cols(), heads}, dtype, device, 2),
          random_tensor({adj.cols(), heads, k}, dtype, device, 3),
          random_tensor({adj.rows(), heads, k}, dtype, device, 4)};
}

void check_results(const Results& got, const Reference& want, double tolerance, const std::string& what) {
  const char* const names[] = {"y", "ds", "dt", "dx"};
  const double step = got[0].dtype() == DType::kF16 ? 0x1p-24 : 1e-30;  // of numbers near 0
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_TRUE(near(got[i], want.value[i], tolerance, step, want.scale[i])) << what << " " << names[i];
}

TEST_P(OpsAttention, BothFormsMatchFloat64OnAllCases) {
  for (const SparseCase& sparse_case : sparse_cases()) {
    const Adjacency host = sparse_case.make(), adj = host.to(device());
    for (const std::int64_t heads : {1, 2, 3, 8})
      for (const std::int64_t k : {1, 7, 8, 16, 41}) {
        if (host.num_edges() * heads * k > 10'000'000) continue;  // seconds each, and nothing new
        if (is_for_a_gpu(device(), host.num_edges(), heads * k)) continue;
        const auto in = random_inputs(host, heads, k, DType::kF32, device());
        AttentionOptions options{.dropout = (heads + k) % 2 ? 0.6 : 0, .key = kKey};
        const Reference want = reference(host, in, in[3], options);
        for (const AttentionForm form : kForms) {
          options.form = form;
          const Poisoned poisoned;
          const std::string what = str(sparse_case.name, " heads=", heads, " k=", k, " ", form);
          const Results got = run(adj, in, in[3], options);
          check_results(got, want, 1e-5, what);
          // Without a record nothing is kept, and nothing else differs.
          EXPECT_TRUE(same_bits(gat_attention(adj, in[0], in[1], in[2], options), got[0])) << what;
        }
      }
  }
}

// AttentionOptions::first_head: some heads alone have the results that they have beside the others.
TEST_P(OpsAttention, HeadsOfMoreDrawTheirMask) {
  const Adjacency host = sparse_cases()[5].make(), adj = host.to(device());
  constexpr std::int64_t kHeads = 11;
  for (const std::int64_t k : {3, 8})
    for (const AttentionForm form : kForms) {
      AttentionOptions options{.dropout = 0.5, .key = kKey, .form = form};
      const auto in = random_inputs(host, kHeads, k, DType::kF64, device());
      const Results all = run(adj, in, in[3], options);
      for (const auto& [begin, end] : {std::pair{0, 1}, {1, 3}, {2, 9}, {3, 11}, {4, 8}, {10, 11}}) {
        const std::int64_t heads = end - begin;
        const auto part = [&](const Tensor& of) {
          const std::int64_t width = of.rank() == 3 ? k : 1, rows = of.dim(0);
          const Tensor some = columns(of.reshape({rows, kHeads * width}), begin * width, end * width);
          return of.rank() == 3 ? some.reshape({rows, heads, k}) : some;
        };
        std::vector<Tensor> some;
        for (const Tensor& of : in) some.push_back(part(of));
        options.first_head = begin;
        const Results got = run(adj, some, some[3], options);
        for (std::size_t i = 0; i < got.size(); ++i)
          EXPECT_TRUE(near(got[i], doubles(part(all[i])), 1e-12, 1e-12)) << form << " " << begin << " " << i;
      }
    }
}

TEST_P(OpsAttention, EveryDtypeAndSameBitsEveryTime) {
  const Adjacency host = sparse_cases()[5].make(), adj = host.to(device());
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{{8, 8}, {1, 41}, {3, 5}, {8, 1}, {5, 12}};
  for (const auto& [heads, k] : shapes)
    for (const double dropout : {0.0, 0.3})
      for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16}) {
        const auto in = random_inputs(host, heads, k, dtype, device());
        const AttentionOptions options{.dropout = dropout, .key = kKey, .form = AttentionForm::kFused};
        const double tolerance = dtype == DType::kF64   ? 1e-12
                                 : dtype == DType::kF32 ? 1e-5
                                                        : 2 * epsilon(dtype);
        const std::string what = str("heads=", heads, " k=", k, " dropout=", dropout, " ", dtype);
        const Poisoned poisoned;
        const Results first = run(adj, in, in[3], options), again = run(adj, in, in[3], options);
        check_results(first, reference(host, in, in[3], options), tolerance, what);
        for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(same_bits(first[i], again[i])) << what;
      }
}

// Rows of 0 to 40 edges beside each other, and columns without edges, where a row of x is whole tiles of 512
// bytes: heads of a tile, of two, and across tiles.
TEST_P(OpsAttention, ShortRowsOfWholeTiles) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < 101; ++i) lengths.push_back(i % 3 == 0 ? 0 : i % 41);
  const Adjacency host = graph_with_lengths(lengths, 500), adj = host.to(device());
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{{1, 128}, {4, 128}, {8, 32},
                                                                  {4, 96},  {1, 512}, {16, 16}};
  for (const auto& [heads, k] : shapes)
    for (const double dropout : {0.0, 0.3})
      for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
        if (!device().is_cuda() && dtype == DType::kF16) continue;  // as bf16
        const auto in = random_inputs(host, heads, k, dtype, device());
        const AttentionOptions options{.dropout = dropout, .key = kKey, .form = AttentionForm::kFused};
        const double tolerance = dtype == DType::kF32 ? 1e-5 : 2 * epsilon(dtype);
        const std::string what = str("heads=", heads, " k=", k, " dropout=", dropout, " ", dtype);
        const Poisoned poisoned;
        const Results first = run(adj, in, in[3], options), again = run(adj, in, in[3], options);
        check_results(first, reference(host, in, in[3], options), tolerance, what);
        for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(same_bits(first[i], again[i])) << what;
      }
}

TEST_P(OpsAttention, Gradients) {
  // Rows of no, one and many neighbours, repeated edges, and columns without any.
  const Adjacency adj = graph_with_lengths({3, 0, 1, 70, 12, 5}, 9).to(device());
  for (const AttentionForm form : kForms)
    for (const double dropout : {0.0, 0.4})
      for (const std::int64_t heads : {1, 4}) {
        const AttentionOptions options{.dropout = dropout, .key = kKey, .form = form};
        EXPECT_TRUE(
            gradients_ok([&](const auto& in) { return gat_attention(adj, in[0], in[1], in[2], options); },
                         {random_variable({6, heads}, device()), random_variable({9, heads}, device(), 2),
                          random_variable({9, heads, 3}, device(), 3)}))
            << form << " dropout=" << dropout << " heads=" << heads;
      }
  const AttentionOptions options{.dropout = 0.4, .key = kKey};
  EXPECT_TRUE(gradients_ok(
      [&](const auto& in) { return attention_from_scores(adj, in[0], in[1], options); },
      {random_variable({adj.num_edges(), 2}, device()), random_variable({9, 2, 3}, device(), 2)}));
}

TEST_P(OpsAttention, ScoresOfAnySizeDoNotOverflow) {
  const Adjacency host = graph_with_lengths({40, 3, 600, 7}, 50), adj = host.to(device());
  for (const double size : {1e4, 1e30}) {
    auto in = random_inputs(host, 2, 4, DType::kF32, kCpu);
    for (const int i : {0, 1}) {
      auto values = doubles(in[i]);
      for (double& v : values) v *= size;
      in[i] = Tensor::from(values, in[i].shape()).to(DType::kF32);
    }
    // Sums of this size are rounded before the softmax sees them: the two forms round alike.
    for (Tensor& tensor : in) tensor = tensor.to(device());
    AttentionOptions options{.dropout = 0.2, .key = kKey, .form = AttentionForm::kComposed};
    const Results want = run(adj, in, in[3], options);
    options.form = AttentionForm::kFused;
    const Results got = run(adj, in, in[3], options);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(near(got[i], doubles(want[i]), 0, 2e-5)) << size << i;
  }
}

TEST_P(OpsAttention, OneNeighbourNoneAndEqualScores) {
  const Adjacency host = graph_with_lengths({1, 0, 64, 1}, 100), adj = host.to(device());
  const auto col = host.csr().col.to_vector<std::int32_t>();
  auto in = random_inputs(host, 2, 8, DType::kF32, device());
  in[0].fill(-3), in[1].fill(1);
  const auto x = doubles(in[2]);
  for (const AttentionForm form : kForms) {
    const AttentionOptions options{.form = form};
    const Results got = run(adj, in, in[3], options);
    const auto y = doubles(got[0]), ds = doubles(got[1]), dx = doubles(got[3]);
    for (std::size_t j = 0; j < 16; ++j) {
      EXPECT_EQ(y[j], x[static_cast<std::size_t>(col[0]) * 16 + j]) << form;  // a weight of 1
      EXPECT_EQ(y[16 + j], 0) << form;
      double mean = 0;
      for (std::size_t e = 1; e < 65; ++e) mean += x[static_cast<std::size_t>(col[e]) * 16 + j] / 64;
      EXPECT_NEAR(y[32 + j], mean, 1e-6) << form;
    }
    for (const double value : ds) EXPECT_NEAR(value, 0, 1e-6) << form;
    for (const Tensor& gradient : got)
      for (const double value : doubles(gradient)) EXPECT_TRUE(std::isfinite(value)) << form;
    for (std::int32_t j = 0; j < 100; ++j) {
      if (std::find(col.begin(), col.end(), j) == col.end()) {
        EXPECT_EQ(dx[static_cast<std::size_t>(j) * 16], 0) << form;
      }
    }
  }
}

TEST_P(OpsAttention, NanGoesAlongItsEdgesOnly) {
  // Two parts without an edge between them: rows and columns 0 and 1, and 2 and 3, one of them long.
  std::vector<std::int32_t> col{0, 1, 1, 2, 3};
  for (int i = 0; i < 700; ++i) col.push_back(2 + i % 2);
  const Adjacency adj =
      Adjacency({4, 4, Tensor::from(std::vector<std::int64_t>{0, 2, 3, 5, 705}), Tensor::from(col)})
          .to(device());
  for (const AttentionForm form : kForms)
    for (const int which : {0, 1, 2, 3, 4, 5}) {
      // Heads of 8, and of 64: whole tiles on CUDA.
      auto in = random_inputs(adj, 2, which < 3 ? 8 : 64, DType::kF32, kCpu);
      Tensor& some = in[static_cast<std::size_t>(which % 3)];
      auto values = some.to_vector<float>();
      values[0] = std::numeric_limits<float>::quiet_NaN();  // of row or column 0, head 0
      some = Tensor::from(values, some.shape());
      for (Tensor& tensor : in) tensor = tensor.to(device());
      const Results got = run(adj, in, in[3], {.form = form});
      EXPECT_TRUE(std::isnan(doubles(got[0])[0])) << form;
      for (const Tensor& result : got) {
        const auto all = doubles(result);
        for (std::size_t j = all.size() / 2; j < all.size(); ++j) EXPECT_FALSE(std::isnan(all[j])) << form;
        EXPECT_FALSE(std::isnan(all[all.size() / 8])) << form;  // row 0, head 1
      }
    }
}

TEST_P(OpsAttention, FromScoresIsTheSecondHalf) {
  const Adjacency host = sparse_cases()[4].make(), adj = host.to(device());
  const auto in = random_inputs(host, 4, 6, DType::kF32, device());
  const AttentionOptions options{.dropout = 0.5, .key = kKey, .form = AttentionForm::kComposed};
  const Tensor score = leaky_relu(sddmm(adj, in[0], in[1], SddmmOp::kAdd), 0.2);
  EXPECT_TRUE(same_bits(attention_from_scores(adj, score, in[2], options),
                        gat_attention(adj, in[0], in[1], in[2], options)));
}

// Heads of a pack, a few, those of idle lanes, and too wide for one pass; more nodes than one block has.
TEST_P(OpsAttention, OfALayerIsItsParts) {
  std::vector<std::int64_t> many(3001);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<std::int64_t>(i % 4);
  const Adjacency few = graph_with_lengths({3, 0, 40, 2, 700, 1, 0, 33}, 8).to(device()),
                  lots = graph_with_lengths(many, 3001).to(device());
  const auto check = [&](const Adjacency& adj, std::int64_t heads, std::int64_t k, DType dtype,
                         AttentionForm form, double tolerance) {
    const AttentionOptions options{.dropout = 0.3, .key = kKey, .form = form};
    const Shape shape{adj.rows(), heads, k};
    const Tensor x0 = random_tensor(shape, dtype, device(), 1),
                 dst0 = random_tensor({heads, k}, dtype, device(), 2),
                 src0 = random_tensor({heads, k}, dtype, device(), 3),
                 dy = random_tensor(shape, dtype, device(), 4);
    const auto make = [&] {
      return std::vector{Variable(x0, true), Variable(dst0, true), Variable(src0, true)};
    };
    const auto a = make(), b = make(), again = make();
    const Poisoned poisoned;
    const Variable y = gat_self_attention(adj, a[0], a[1], a[2], options),
                   want = gat_attention(adj, head_dot(b[0], b[1]), head_dot(b[0], b[2]), b[0], options);
    EXPECT_TRUE(same_bits(y.value(), want.value()));
    y.backward(dy);
    want.backward(dy);
    gat_self_attention(adj, again[0], again[1], again[2], options).backward(dy);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(near(a[i].grad(), doubles(b[i].grad()), tolerance, tolerance))
          << i << " " << form << " " << dtype << " " << heads << " x " << k;
      EXPECT_TRUE(same_bits(a[i].grad(), again[i].grad())) << i << " " << form << " " << dtype;
    }
  };
  for (const auto& [heads, k] :
       {std::pair{8, 8}, {1, 41}, {3, 5}, {1, 3}, {5, 12}, {1, 70}, {2, 132}, {40, 1}})
    for (const AttentionForm form : kForms) {
      check(few, heads, k, DType::kF64, form, 1e-12);
      check(few, heads, k, DType::kF32, form, 1e-4);
    }
  for (const auto& [heads, k] : {std::pair{8, 8}, {1, 3}, {3, 40}}) {
    check(few, heads, k, DType::kBF16, AttentionForm::kFused, 0.1);
    check(lots, heads, k, DType::kF64, AttentionForm::kFused, 1e-11);
    check(lots, heads, k, DType::kF32, AttentionForm::kFused, 1e-3);
  }
}

TEST_P(OpsAttention, Errors) {
  const Adjacency adj = graph_with_lengths({2, 1}, 3).to(device());
  const auto f32 = [&](const Shape& shape) { return Tensor::zeros(shape, DType::kF32, device()); };
  const Tensor s = f32({2, 4}), t = f32({3, 4}), x = f32({3, 4, 5}), score = f32({3, 4});
  EXPECT_ERROR(gat_attention(adj, f32({3, 4}), t, x), "[gat_attention] s must be [2, 4], got [3, 4]");
  EXPECT_ERROR(gat_attention(adj, s, s, x), "[gat_attention] t must be [3, 4], got [2, 4]");
  EXPECT_ERROR(gat_attention(adj, s, t, f32({3, 20})), "[gat_attention] x must be [3, 4, k], got [3, 20]");
  EXPECT_ERROR(gat_attention(adj, s.to(DType::kF64), t, x),
               "[gat_attention] s must have the dtype of x, f32, got f64");
  EXPECT_ERROR(gat_attention(adj, s, t, x, {.negative_slope = -1}),
               "[gat_attention] negative_slope must be finite and at least 0, got -1");
  EXPECT_ERROR(gat_attention(adj, s, t, x, {.dropout = 1}),
               "[gat_attention] dropout must be in [0, 1), got 1");
  EXPECT_ERROR(attention_from_scores(adj, s, x), "[attention_from_scores] score must be [3, 4], got [2, 4]");
  EXPECT_ERROR(attention_from_scores(adj, score, f32({2, 4, 5})),
               "[attention_from_scores] x must be [3, 4, k], got [2, 4, 5]");
  EXPECT_ERROR(attention_from_scores(adj, score, x, {.form = AttentionForm::kFused}),
               "[attention_from_scores] has no fused form: choose auto or composed");
  EXPECT_ERROR(parse_attention_form("fast"),
               "unknown attention form 'fast': expected one of auto, fused, composed");
  EXPECT_EQ(parse_attention_form("composed"), AttentionForm::kComposed);
  EXPECT_EQ(str(parse_attention_form("fused")), "fused");
}

// A node with one edge to it has a gradient like any other; one without edges has none, whatever its
// features.
TEST_P(OpsAttention, GradientsOfNodesWithOneEdgeAndWithout) {
  const Tensor row_ptr = Tensor::from(std::vector<std::int64_t>{0, 3, 4, 4}),
               col = Tensor::from(std::vector<std::int32_t>{0, 1, 2, 2});  // to 0 and 1 one edge, to 3 none
  const Adjacency host({3, 4, row_ptr, col}), adj = host.to(device());
  auto in = random_inputs(host, 2, 4, DType::kF64, device());
  for (const AttentionForm form : kForms) {
    const AttentionOptions options{.form = form};
    const Results got = run(adj, in, in[3], options);
    check_results(got, reference(host, in, in[3], options), 1e-12, str(form));
    const auto dt = doubles(got[2]);
    for (int head = 0; head < 2; ++head) {
      EXPECT_NE(dt[head], 0) << form;
      EXPECT_EQ(dt[6 + head], 0) << form;
    }
    std::vector<double> x = doubles(in[2]);
    for (std::size_t i = 24; i < 32; ++i) x[i] = NAN;
    const Results again =
        run(adj, {in[0], in[1], Tensor::from(x, {4, 2, 4}, device()), in[3]}, in[3], options);
    EXPECT_EQ(doubles(again[2]), dt) << form;
  }
}

}  // namespace
}  // namespace rodeo::test
