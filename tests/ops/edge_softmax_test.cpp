#include "ops/edge_softmax.h"

#include <limits>

#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsEdgeSoftmax : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsEdgeSoftmax);

constexpr double kInf = std::numeric_limits<double>::infinity();

/// A row's values in one head, of a flat array [edges, heads].
struct Group {
  std::int64_t begin, end, heads;
  template <class F>
  void each(F&& f) const {
    for (std::int64_t i = begin; i < end; i += heads) f(i);
  }
};

std::vector<Group> groups_of(const Adjacency& adj, std::int64_t heads) {
  const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
  std::vector<Group> groups;
  for (std::int64_t row = 0; row < adj.rows(); ++row)
    for (std::int64_t h = 0; h < heads; ++h)
      groups.push_back({row_ptr[row] * heads + h, row_ptr[row + 1] * heads, heads});
  return groups;
}

std::vector<double> reference(const std::vector<Group>& groups, const std::vector<double>& score) {
  std::vector<double> y(score.size());
  for (const Group& group : groups) {
    double top = -kInf, sum = 0;
    group.each([&](std::int64_t i) { top = std::max(top, score[i]); });
    group.each([&](std::int64_t i) { sum += y[i] = std::exp(score[i] - top); });
    group.each([&](std::int64_t i) { y[i] /= sum; });
  }
  return y;
}

struct Gradient {
  std::vector<double> ds, scale;  // scale: what rounding is relative to
};

Gradient reference_gradient(const std::vector<Group>& groups, const std::vector<double>& y,
                            const std::vector<double>& dy) {
  Gradient out{std::vector<double>(y.size()), std::vector<double>(y.size())};
  for (const Group& group : groups) {
    double dot = 0, size = 0;
    group.each([&](std::int64_t i) { dot += y[i] * dy[i], size += std::abs(y[i] * dy[i]); });
    group.each([&](std::int64_t i) {
      out.ds[i] = y[i] * (dy[i] - dot);
      out.scale[i] = y[i] * (std::abs(dy[i]) + size);
    });
  }
  return out;
}

double tolerance(DType dtype) {
  return dtype == DType::kF64 ? 1e-13 : dtype == DType::kF32 ? 3e-6 : 2 * epsilon(dtype);
}

Tensor gradient_of(const Adjacency& adj, const Tensor& score, const Tensor& dy) {
  const Variable s(score, /*requires_grad=*/true);
  edge_softmax(adj, s).backward(dy);
  return s.grad();
}

void check_case(const SparseCase& sparse_case, std::int64_t heads, const std::vector<DType>& dtypes,
                Device device) {
  const Adjacency host = sparse_case.make(), adj = host.to(device);
  const std::vector<Group> groups = groups_of(host, heads);
  // Up to +-8: most of a long row's weights are tiny, and an overflow would show in f16.
  std::vector<double> scores = doubles(random_tensor({host.num_edges(), heads}, DType::kF32, kCpu, 11));
  for (double& s : scores) s *= 8;
  const Tensor exact_score = Tensor::from(scores, {host.num_edges(), heads}),
               exact_dy = random_tensor(exact_score.shape(), DType::kF64, kCpu, 12);
  const Poisoned poisoned;
  for (const DType dtype : dtypes) {
    const std::string what = str(sparse_case.name, " heads=", heads, " ", dtype);
    const Tensor score = exact_score.to(dtype), dy = exact_dy.to(dtype);
    const double tiny = dtype == DType::kF16 ? 0x1p-24 : 1e-30;  // the step of f16's smallest numbers
    const Tensor y = edge_softmax(adj, score.to(device));
    ASSERT_EQ(y.shape(), score.shape()) << what;
    ASSERT_TRUE(near(y, reference(groups, doubles(score)), tolerance(dtype), tiny)) << what;
    ASSERT_TRUE(same_bits(y, edge_softmax(adj, score.to(device)))) << what;

    // The gradient is taken at the result as it was rounded.
    const Gradient gradient = reference_gradient(groups, doubles(y), doubles(dy));
    const Tensor ds = gradient_of(adj, score.to(device), dy.to(device));
    ASSERT_TRUE(near(ds, gradient.ds, tolerance(dtype), tiny, gradient.scale)) << what;
    if (device.is_cuda()) {
      ASSERT_TRUE(same_bits(ds, gradient_of(adj, score.to(device), dy.to(device)))) << what;
      ASSERT_TRUE(near(y, doubles(edge_softmax(host, score)), 2 * tolerance(dtype), tiny)) << what;
    }
  }
}

TEST_P(OpsEdgeSoftmax, AllCases) {
  for (const SparseCase& sparse_case : sparse_cases())
    for (const std::int64_t heads : {1, 2, 3, 8}) check_case(sparse_case, heads, kFloats, device());
}

// Rows that just fit a block's registers, or just not, and heads around a warp's lanes.
TEST_P(OpsEdgeSoftmax, LongRowsAndManyHeads) {
  const SparseCase around{
      "around a block's room", [] {
        return graph_with_lengths(
            {319, 320, 321, 639, 640, 641, 1023, 1024, 1025, 2047, 2048, 2049, 0, 31, 543, 544}, 90);
      }};
  for (const std::int64_t heads : {1, 2, 3, 4, 5, 7, 8, 16, 17, 31, 32, 33, 65})
    check_case(around, heads, {DType::kF32}, device());
  for (const std::int64_t heads : {1, 3, 5, 8, 33})
    check_case(around, heads, {DType::kF64, DType::kBF16}, device());
}

TEST_P(OpsEdgeSoftmax, OneHeadNeedsNoSecondDimension) {
  const Adjacency adj = graph_with_lengths({3, 0, 40}, 5).to(device());
  const Tensor score = random_tensor({43}, DType::kF32, device());
  const Tensor y = edge_softmax(adj, score);
  EXPECT_EQ(y.shape(), (Shape{43}));
  EXPECT_TRUE(same_bits(y, edge_softmax(adj, score.reshape({43, 1})).reshape({43})));
}

TEST_P(OpsEdgeSoftmax, OneNeighbourIsExactlyOneAndEqualScoresAreEqualParts) {
  const std::vector<std::int64_t> lengths{1, 2, 0, 4, 32, 1, 1024, 4096};
  const Adjacency host = graph_with_lengths(lengths, 9), adj = host.to(device());
  for (const DType dtype : kFloats)
    for (const double value : {-7.5, 0.0, 10000.0, -10000.0})
      for (const std::int64_t heads : {1, 3}) {
        std::vector<double> want;
        for (const std::int64_t length : lengths)
          want.insert(want.end(), static_cast<std::size_t>(length * heads),
                      1.0 / static_cast<double>(length));
        const Tensor y = edge_softmax(adj, Tensor::full({adj.num_edges(), heads}, value, dtype, device()));
        EXPECT_EQ(doubles(y), want) << dtype << " " << value;
      }
}

TEST_P(OpsEdgeSoftmax, LargeScoresDoNotOverflow) {
  const Adjacency adj = graph_with_lengths({3, 2, 600}, 700).to(device());
  std::vector<double> score{1e4, -1e4, 1e4, -1e4, -1e4}, want{0.5, 0, 0.5, 0.5, 0.5};
  for (int e = 0; e < 600; ++e) {
    score.push_back(e == 599 ? 1e4 : -1e4);
    want.push_back(e == 599 ? 1 : 0);
  }
  for (const DType dtype : kFloats)
    EXPECT_EQ(doubles(edge_softmax(adj, Tensor::from(score).to(dtype).to(device()))), want) << dtype;
}

TEST_P(OpsEdgeSoftmax, MinusInfinityIsNoNeighbour) {
  for (const std::int64_t length : {2, 40, 5000}) {
    const Adjacency adj = graph_with_lengths({length, length, length}, 9).to(device());
    std::vector<double> score(static_cast<std::size_t>(3 * length), -kInf);
    score[length] = 3;  // the second row has one score, the third a NaN
    score[2 * length + 1] = NAN;
    for (const DType dtype : kFloats) {
      const Tensor s = Tensor::from(score).to(dtype).to(device());
      const std::vector<double> y = doubles(edge_softmax(adj, s)),
                                ds =
                                    doubles(gradient_of(adj, s, Tensor::full(s.shape(), 1, dtype, device())));
      for (std::int64_t e = 0; e < length; ++e) {
        ASSERT_EQ(y[e], 0);
        ASSERT_EQ(ds[e], 0);
        ASSERT_EQ(y[length + e], e == 0 ? 1 : 0);
        ASSERT_TRUE(std::isnan(y[2 * length + e])) << dtype << " " << length << " " << e;
      }
    }
  }
}

TEST_P(OpsEdgeSoftmax, Gradients) {
  const Adjacency adj = graph_with_lengths({0, 3, 40, 1, 0, 70}, 9).to(device());
  for (const std::int64_t heads : {1, 3})
    EXPECT_TRUE(gradients_ok([&](const auto& in) { return edge_softmax(adj, in[0]); },
                             {random_variable({114, heads}, device())}));
  EXPECT_TRUE(gradients_ok([&](const auto& in) { return edge_softmax(adj, in[0]); },
                           {random_variable({114}, device())}));
  const Adjacency longer = graph_with_lengths({700, 2}, 9).to(device());
  EXPECT_TRUE(gradients_ok([&](const auto& in) { return edge_softmax(longer, in[0]); },
                           {random_variable({702, 2}, device())}));
}

TEST_P(OpsEdgeSoftmax, NothingToDo) {
  const Adjacency adj = graph_with_lengths({2, 1}, 3).to(device());
  EXPECT_EQ(edge_softmax(adj, Tensor::empty({3, 0}, DType::kF32, device())).shape(), (Shape{3, 0}));
}

TEST_P(OpsEdgeSoftmax, Errors) {
  const Adjacency adj = graph_with_lengths({1, 2, 1}, 3).to(device());
  const auto of = [&](const Shape& shape, DType dtype = DType::kF32) {
    return edge_softmax(adj, Tensor::zeros(shape, dtype, device()));
  };
  EXPECT_ERROR(of({3}), "[edge_softmax] score must be [4] or [4, heads], got [3]");
  EXPECT_ERROR(of({4, 2, 2}), "[edge_softmax] score must be [4] or [4, heads], got [4, 2, 2]");
  EXPECT_ERROR(of({}), "[edge_softmax] score must be [4] or [4, heads], got []");
  EXPECT_ERROR(of({4}, DType::kI32), "[edge_softmax] score must be floating point, got i32");
  EXPECT_ERROR(edge_softmax(adj, Tensor()), "[edge_softmax] score is undefined");
  if (device().is_cuda()) {
    EXPECT_ERROR(edge_softmax(adj, Tensor::zeros({4})),
                 "[edge_softmax] score must be on cuda:0 as the graph is, got cpu");
  }
}

}  // namespace
}  // namespace rodeo::test
