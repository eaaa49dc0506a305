#include <array>
#include <limits>

#include "ops/dense.h"
#include "ops/spmm.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsSpmmReduce : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsSpmmReduce);

constexpr float kInf = std::numeric_limits<float>::infinity();

/// y and its gradients for a given dy, in float64, edge by edge.
struct Reference {
  std::vector<double> y, dx, dweight;
};

Reference reduce_reference(const Adjacency& adj, const Tensor& weight, const Tensor& x, const Tensor& dy,
                           Reduce reduce) {
  const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
  const auto col = adj.csr().col.to_vector<std::int32_t>();
  const std::int64_t n = x.numel() / std::max<std::int64_t>(1, x.dim(0));
  const std::int64_t heads = weight.defined() && weight.rank() == 2 ? weight.dim(1) : 1;
  const std::vector<double> w = weight.defined() ? doubles(weight) : std::vector<double>(col.size(), 1),
                            xs = doubles(x), dys = doubles(dy);
  Reference out{std::vector<double>(static_cast<std::size_t>(adj.rows() * n)), std::vector<double>(xs.size()),
                std::vector<double>(w.size())};
  for (std::int64_t i = 0; i < adj.rows(); ++i) {
    const double count = static_cast<double>(row_ptr[i + 1] - row_ptr[i]);
    for (std::int64_t j = 0; j < n; ++j) {
      const auto weight_at = [&](std::int64_t e) { return e * heads + j * heads / n; };
      const auto term = [&](std::int64_t e) { return w[weight_at(e)] * xs[col[e] * n + j]; };
      const auto pass = [&](std::int64_t e, double share) {
        out.dx[col[e] * n + j] += share * w[weight_at(e)] * dys[i * n + j];
        out.dweight[weight_at(e)] += share * xs[col[e] * n + j] * dys[i * n + j];
      };
      if (reduce == Reduce::kMean) {
        for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e) {
          out.y[i * n + j] += term(e) / count;
          pass(e, 1 / count);
        }
        continue;
      }
      std::int64_t best = -1;
      for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e)
        if (best < 0 || (reduce == Reduce::kMax ? term(e) > term(best) : term(e) < term(best))) best = e;
      if (best < 0) continue;
      out.y[i * n + j] = term(best);
      pass(best, 1);
    }
  }
  return out;
}

constexpr Reduce kReductions[] = {Reduce::kMean, Reduce::kMax, Reduce::kMin};

// Small whole numbers: every product, sum and comparison is exact, and there are many ties.
Tensor whole_numbers(const Shape& shape, DType dtype, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(random_word(seed, 3, i) % 17) - 8;
  return Tensor::from(values, shape).to(dtype);
}

void check_case(const SparseCase& sparse_case, const Shape& shape, const Shape& weights, DType dtype,
                Device device) {
  const Adjacency host = sparse_case.make(), adj = host.to(device);
  const Tensor x = whole_numbers(shape, dtype, 3), weight = whole_numbers(weights, dtype, 4);
  const Shape out = shape.rank() == 3 ? Shape{host.rows(), shape[1], shape[2]} : Shape{host.rows(), shape[1]};
  const Tensor dy = random_tensor(out, dtype, kCpu, 5);
  for (const bool weighted : {true, false}) {
    if (!weighted && shape.rank() == 3) continue;
    for (const Reduce reduce : kReductions) {
      const Reference want = reduce_reference(host, weighted ? weight : Tensor(), x, dy, reduce);
      const std::string what =
          str(sparse_case.name, " ", shape, " ", dtype, weighted ? " weighted " : " ", reduce);
      const Poisoned poisoned;
      const auto run = [&] {
        const Variable xv(x.to(device), true), wv(weight.to(device), true);
        const SpmmOptions options{.reduce = reduce};
        const Variable y = weighted ? spmm(adj, wv, xv, options) : spmm(adj, xv, options);
        y.backward(dy.to(device));
        return std::array{y.value(), xv.grad(), weighted ? wv.grad() : Tensor::zeros(weights, dtype)};
      };
      const auto got = run();
      ASSERT_EQ(got[0].shape(), out) << what;
      const double exact = reduce == Reduce::kMean ? sum_tolerance(dtype) : epsilon(dtype) / 2;
      ASSERT_TRUE(near(got[0], want.y, exact, 20 * sum_tolerance(dtype) * (reduce == Reduce::kMean))) << what;
      // A gradient adds up thousands of terms of either sign, each rounded once.
      ASSERT_TRUE(near(got[1], want.dx, 4 * sum_tolerance(dtype), 400 * sum_tolerance(dtype))) << what;
      if (weighted) {
        ASSERT_TRUE(near(got[2], want.dweight, 4 * sum_tolerance(dtype), 40 * sum_tolerance(dtype))) << what;
      }
      const auto again = run();
      for (int i = 0; i < 3; ++i) ASSERT_TRUE(same_bits(got[i], again[i])) << what << " " << i;
      // Without a gradient to keep anything for.
      const SpmmOptions options{.reduce = reduce};
      const Tensor y =
          weighted ? spmm(adj, weight.to(device), x.to(device), options) : spmm(adj, x.to(device), options);
      ASSERT_TRUE(same_bits(y, got[0])) << what;
    }
  }
}

TEST_P(OpsSpmmReduce, F32OnAllCasesAndWidths) {
  for (const SparseCase& sparse_case : sparse_cases())
    for (const std::int64_t n : widths()) {
      const Adjacency adj = sparse_case.make();
      if (n * adj.num_edges() > 500000 && !device().is_cuda()) continue;  // minutes
      if (is_for_a_gpu(device(), adj.num_edges(), n)) continue;
      check_case(sparse_case, {adj.cols(), n}, {adj.num_edges()}, DType::kF32, device());
    }
}

TEST_P(OpsSpmmReduce, OtherTypesAndHeads) {
  for (const SparseCase& sparse_case : sparse_cases()) {
    const Adjacency adj = sparse_case.make();
    if (adj.num_edges() > 30000 && !device().is_cuda()) continue;  // minutes
    for (const DType dtype : {DType::kF64, DType::kF16, DType::kBF16}) {
      for (const std::int64_t n : {1, 7, 16, 33})
        check_case(sparse_case, {adj.cols(), n}, {adj.num_edges()}, dtype, device());
      for (const auto& [heads, n] : {std::pair{1, 5}, {2, 1}, {3, 7}, {2, 8}, {5, 0}})
        check_case(sparse_case, {adj.cols(), heads, n}, {adj.num_edges(), heads}, dtype, device());
    }
  }
}

// Positions in a row take one byte to four.
TEST_P(OpsSpmmReduce, PositionsOfAllSizes) {
  for (const std::int64_t n : {1, 3, 8, 40}) {
    const SparseCase lengths{
        "lengths", [] {
          return graph_with_lengths({0, 1, 255, 256, 257, 600, 65535, 65536, 65537}, 5000);
        }};
    for (const DType dtype : {DType::kF32, DType::kF16})
      check_case(lengths, Shape{5000, n}, Shape{lengths.make().num_edges()}, dtype, device());
  }
}

TEST_P(OpsSpmmReduce, ARowOfMoreThan2To24Edges) {
  constexpr std::int32_t kCols = 1021, kBest = (1 << 24) + 7;
  std::vector<std::int32_t> col(kBest + 300);
  for (std::size_t e = 0; e < col.size(); ++e) col[e] = static_cast<std::int32_t>(e % (kCols - 1));
  col[kBest] = kCols - 1;
  const Tensor row_ptr = Tensor::from(std::vector{std::int64_t{0}, static_cast<std::int64_t>(col.size())});
  const Adjacency adj = Adjacency({1, kCols, row_ptr, Tensor::from(col)}).to(device());
  std::vector<float> x(kCols);
  x.back() = 1;
  const Variable in(Tensor::from(x, {kCols, 1}, device()), true);
  spmm(adj, in, {.reduce = Reduce::kMax}).backward(Tensor::full({1, 1}, 3, DType::kF32, device()));
  std::vector<double> dx(kCols);
  dx.back() = 3;
  EXPECT_TRUE(near(in.grad(), dx, 0, 0));
}

TEST_P(OpsSpmmReduce, TheSumIsTheDefault) {
  const Adjacency adj = graph_with_lengths({3, 0, 40}, 9).to(device());
  const Tensor x = random_tensor({9, 5}, DType::kF32, device());
  EXPECT_TRUE(same_bits(spmm(adj, x), spmm(adj, x, {.reduce = Reduce::kSum})));
}

TEST_P(OpsSpmmReduce, TiesNanAndInfinity) {
  // Row 0: columns 2, 0, 1; row 1: none; row 2: column 3.
  const Adjacency adj = Adjacency({3, 4, Tensor::from(std::vector<std::int64_t>{0, 3, 3, 4}),
                                   Tensor::from(std::vector<std::int32_t>{2, 0, 1, 3})})
                            .to(device());
  const auto run = [&](const std::vector<float>& x, Reduce reduce, float y, const std::vector<double>& dx) {
    const Variable in(Tensor::from(x, {4, 1}, device()), true);
    const Variable out = spmm(adj, in, {.reduce = reduce});
    const float first = out.value().to(kCpu).data<float>()[0];
    EXPECT_TRUE(first == y || (std::isnan(first) && std::isnan(y))) << first;
    EXPECT_EQ(out.value().to(kCpu).data<float>()[1], 0);
    out.backward(Tensor::full({3, 1}, 1, DType::kF32, device()));
    EXPECT_TRUE(near(in.grad(), dx, 0, 0));
  };
  run({5, 5, 5, 1}, Reduce::kMax, 5, {0, 0, 1, 1});  // the first edge of the row, not the first column
  run({5, 5, 4, 1}, Reduce::kMax, 5, {1, 0, 0, 1});
  run({5, 5, 5, 1}, Reduce::kMin, 5, {0, 0, 1, 1});
  run({NAN, NAN, 5, 1}, Reduce::kMax, NAN, {1, 0, 0, 1});
  run({NAN, 1, 5, 1}, Reduce::kMin, NAN, {1, 0, 0, 1});
  run({-kInf, -kInf, -kInf, 1}, Reduce::kMax, -kInf, {0, 0, 1, 1});
  run({kInf, -kInf, 0, 1}, Reduce::kMin, -kInf, {0, 1, 0, 1});
}

TEST_P(OpsSpmmReduce, AMeanOf16BitsDoesNotOverflow) {
  const Adjacency adj = graph_with_lengths({100000, 0}, 50).to(device());
  const Tensor x = Tensor::full({50, 3}, 100, DType::kF16, device());
  EXPECT_TRUE(near(spmm(adj, x, {.reduce = Reduce::kMean}), {100, 100, 100, 0, 0, 0}, 1e-3));
}

TEST_P(OpsSpmmReduce, Gradients) {
  const Adjacency adj = graph_with_lengths({0, 3, 40, 1, 0, 300}, 9).to(device());
  for (const Reduce reduce : kReductions) {
    const SpmmOptions options{.reduce = reduce};
    EXPECT_TRUE(gradients_ok([&](const auto& in) { return spmm(adj, in[0], options); },
                             {random_variable({9, 3}, device())}));
    EXPECT_TRUE(gradients_ok([&](const auto& in) { return spmm(adj, in[0], in[1], options); },
                             {random_variable({344}, device()), random_variable({9, 5}, device(), 2)}));
    EXPECT_TRUE(gradients_ok([&](const auto& in) { return spmm(adj, in[0], in[1], options); },
                             {random_variable({344, 2}, device()), random_variable({9, 2, 3}, device(), 2)}));
  }
}

TEST_P(OpsSpmmReduce, Errors) {
  const Adjacency adj = graph_with_lengths({1, 2, 1}, 3).to(device());
  const Tensor x = Tensor::zeros({3, 2}, DType::kF32, device());
  EXPECT_ERROR(spmm(adj, x, {.algorithm = SpmmAlgorithm::kRode, .reduce = Reduce::kMax}),
               "[spmm] max has a kernel of its own: leave all other options at their defaults");
  EXPECT_ERROR(spmm(adj, x, {.accumulate = Accumulate::kAtomic, .reduce = Reduce::kMin}),
               "[spmm] min has a kernel of its own: leave all other options at their defaults");
  for (const Reduce reduce : kReductions)
    EXPECT_ERROR(spmm(adj, Tensor::zeros({4, 5}, DType::kF32, device()), {.reduce = reduce}),
                 "[spmm] x must be [3, n], got [4, 5]");
}

TEST(OpsSpmmNames, ParseReduce) {
  EXPECT_EQ(parse_reduce("mean"), Reduce::kMean);
  EXPECT_ERROR(parse_reduce("median"), "unknown reduction 'median': expected one of sum, mean, max, min");
}

}  // namespace
}  // namespace rodeo::test
