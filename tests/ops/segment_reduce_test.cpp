#include "ops/segment_reduce.h"

#include <cmath>

#include "core/storage.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

using Ids = std::vector<std::int64_t>;

class OpsSegmentReduce : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsSegmentReduce);

const std::vector<Reduce> kReductions{Reduce::kSum, Reduce::kMean, Reduce::kMax, Reduce::kMin};

struct Reference {
  std::vector<double> y, y_scale, dx;
};

Reference reference(const Tensor& x, const Ids& offsets, const Tensor& dy, Reduce reduce) {
  const std::int64_t segments = static_cast<std::int64_t>(offsets.size()) - 1,
                     n = x.rank() == 2 ? x.dim(1) : 1;
  const std::vector<double> xs = doubles(x), dys = doubles(dy);
  Reference out{std::vector<double>(dys.size()), std::vector<double>(dys.size()),
                std::vector<double>(xs.size())};
  for (std::int64_t s = 0; s < segments; ++s)
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t to = s * n + j, first = offsets[s], end = offsets[s + 1];
      const double share = reduce == Reduce::kMean ? 1.0 / static_cast<double>(end - first) : 1;
      std::int64_t best = first;
      for (std::int64_t r = first; r < end; ++r) {
        const double v = xs[r * n + j], top = xs[best * n + j];
        if (reduce == Reduce::kMax ? v > top : v < top) best = r;
        if (reduce == Reduce::kMax || reduce == Reduce::kMin) continue;
        out.y[to] += share * v;
        out.y_scale[to] += share * std::abs(v);
        out.dx[r * n + j] = share * dys[to];
      }
      if (first == end || reduce == Reduce::kSum || reduce == Reduce::kMean) continue;
      out.y[to] = xs[best * n + j];
      out.dx[best * n + j] = dys[to];
    }
  return out;
}

void check_case(const Ids& offsets, const Shape& x_shape, DType dtype, Device device) {
  const std::int64_t segments = static_cast<std::int64_t>(offsets.size()) - 1;
  const Shape y_shape = x_shape.rank() == 2 ? Shape{segments, x_shape[1]} : Shape{segments};
  const Tensor x = random_tensor(x_shape, dtype, device, 1), dy = random_tensor(y_shape, dtype, device, 2),
               ptr = Tensor::from(offsets, device);
  for (const Reduce reduce : kReductions) {
    SCOPED_TRACE(str(reduce, " ", segments, " segments of ", x_shape, " ", dtype));
    const Poisoned poisoned;
    const auto run = [&] {
      const Variable leaf(x, true);
      const Variable y = segment_reduce(leaf, ptr, reduce);
      y.backward(dy);
      return std::pair{y.value(), leaf.grad()};
    };
    const auto [y, dx] = run();
    ASSERT_EQ(y.shape(), y_shape);
    ASSERT_EQ(y.dtype(), dtype);
    const Reference want = reference(x, offsets, dy, reduce);
    const bool exact = reduce == Reduce::kMax || reduce == Reduce::kMin;
    ASSERT_TRUE(near(y, want.y, exact ? 0 : sum_tolerance(dtype), exact ? 0 : 1e-7, want.y_scale));
    ASSERT_TRUE(near(dx, want.dx, reduce == Reduce::kMean ? 2 * epsilon(dtype) : 0, 1e-7));
    ASSERT_TRUE(same_bits(y, segment_reduce(x, ptr, reduce)));
    const auto [again, dx_again] = run();
    ASSERT_TRUE(same_bits(y, again) && same_bits(dx, dx_again));
  }
}

TEST_P(OpsSegmentReduce, AllCases) {
  for (const SparseCase& sparse_case : sparse_cases()) {
    SCOPED_TRACE(sparse_case.name);
    const Csr csr = sparse_case.make().csr();
    const Ids offsets = csr.row_ptr.to_vector<std::int64_t>();
    for (const std::int64_t n : {0, 1, 3, 8})
      check_case(offsets, {csr.col.numel(), n}, DType::kF32, device());
    check_case(offsets, {csr.col.numel()}, DType::kF32, device());
  }
}

TEST_P(OpsSegmentReduce, AllWidthsAndDtypes) {
  const Ids offsets{0, 0, 3, 4, 21, 53, 53, 86, 86};
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16})
    for (const std::int64_t n : widths()) check_case(offsets, {86, n}, dtype, device());
  check_case({0}, {0, 3}, DType::kF32, device());
  check_case({0, 0, 0}, {0, 3}, DType::kF32, device());
}

TEST_P(OpsSegmentReduce, TiesAndNan) {
  const Variable x(Tensor::from(std::vector<float>{2, 5, 5, 1, NAN, 7, NAN}, device()), true);
  const Variable y = segment_reduce(x, Tensor::from(Ids{0, 4, 7}, device()), Reduce::kMax);
  y.backward(Tensor::from(std::vector<float>{3, 4}, device()));
  const auto top = y.value().to_vector<float>();
  EXPECT_EQ(top[0], 5);
  EXPECT_TRUE(std::isnan(top[1]));
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{0, 3, 0, 0, 4, 0, 0}));
}

TEST_P(OpsSegmentReduce, AMeanDoesNotOverflow) {
  const Tensor x = Tensor::full({4, 2}, 60000, DType::kF16, device());
  EXPECT_EQ(doubles(segment_reduce(x, Tensor::from(Ids{0, 4}, device()), Reduce::kMean)),
            doubles(x.slice(0, 1)));
}

TEST_P(OpsSegmentReduce, Gradients) {
  const Tensor offsets = Tensor::from(Ids{0, 3, 3, 4, 44}, device());
  for (const Reduce reduce : kReductions)
    for (const Shape& shape : {Shape{44}, Shape{44, 3}})
      EXPECT_TRUE(gradients_ok([&](const auto& in) { return segment_reduce(in[0], offsets, reduce); },
                               {random_variable(shape, device())}))
          << reduce << " " << shape;
}

TEST_P(OpsSegmentReduce, Errors) {
  const Tensor x = Tensor::zeros({4, 2}, DType::kF32, device());
  const auto reduced = [&](const Ids& offsets) {
    return segment_reduce(x, Tensor::from(offsets, device()), Reduce::kSum);
  };
  const std::string rule = "[segment_reduce] offsets must rise from 0 to the number of rows, 4, but offsets[";
  EXPECT_ERROR(reduced({1, 4}), rule + "0] is 1");
  EXPECT_ERROR(reduced({0, 3, 2, 4}), rule + "2] is 2");
  EXPECT_ERROR(reduced({0, 3}), rule + "1] is 3");
  EXPECT_ERROR(reduced({0, 5}), rule + "1] is 5");
  EXPECT_ERROR(reduced({}), "[segment_reduce] offsets must be i64 [segments + 1]");
  EXPECT_ERROR(segment_reduce(x, Tensor::zeros({2}, DType::kI32, device()), Reduce::kMax),
               "[segment_reduce] offsets must be i64 [segments + 1]");
  EXPECT_ERROR(segment_reduce(Tensor(), Tensor(), Reduce::kMax), "[segment_reduce] x is undefined");
  EXPECT_ERROR(segment_reduce(x.reshape({4, 2, 1}), Tensor(), Reduce::kMax),
               "[segment_reduce] x must be [rows] or [rows, n], got [4, 2, 1]");
  EXPECT_ERROR(segment_reduce(Tensor::zeros({4}, DType::kI64, device()), Tensor(), Reduce::kMax),
               "[segment_reduce] x must be floating point, got i64");
}

}  // namespace
}  // namespace rodeo::test
