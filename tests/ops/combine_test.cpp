// Concatenations and column ranges; the other operators of ops/combine.h are tested in norm_test.cpp.
#include "ops/combine.h"

#include "core/storage.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsCombine : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsCombine);

TEST_P(OpsCombine, ConcatRows) {
  const Poisoned poisoned;
  for (const DType dtype : kFloats)
    for (const std::int64_t n : widths()) {
      const Tensor a = random_tensor({3, n}, dtype, device(), 1),
                   none = Tensor::empty({0, n}, dtype, device()),
                   b = random_tensor({2, n}, dtype, device(), 2);
      const Tensor y = concat_rows(std::vector{none, a, b, none, a});
      ASSERT_EQ(y.shape(), (Shape{8, n}));
      EXPECT_TRUE(same_bits(y.slice(0, 3).clone(), a));
      EXPECT_TRUE(same_bits(y.slice(3, 5).clone(), b));
      EXPECT_TRUE(same_bits(y.slice(5, 8).clone(), a));
    }
  const Tensor v = random_tensor({5}, DType::kF32, device());
  EXPECT_EQ(doubles(concat_rows(std::vector{v.slice(0, 2), v.slice(2, 5)})), doubles(v));
  const Tensor ids = Tensor::from(std::vector<std::int64_t>{3, -1, 1LL << 40}, device());
  EXPECT_EQ(concat_rows(std::vector{ids, Tensor::zeros({0}, DType::kI64, device()), ids.slice(1, 2)})
                .to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{3, -1, 1LL << 40, -1}));
  EXPECT_EQ(concat_rows(std::vector{Tensor::empty({3, 0}), Tensor::empty({2, 0})}).shape(), (Shape{5, 0}));
}

TEST_P(OpsCombine, ColumnsAndConcatColumns) {
  const Poisoned poisoned;
  for (const DType dtype : kFloats)
    for (const std::int64_t n : widths()) {
      const Tensor x = random_tensor({9, n}, dtype, device());
      const std::vector<double> xs = doubles(x);
      for (const std::int64_t begin : {std::int64_t{0}, n / 3, n}) {
        const Tensor y = columns(x, begin, n);
        ASSERT_EQ(y.shape(), (Shape{9, n - begin}));
        std::vector<double> want;
        for (std::int64_t i = 0; i < 9; ++i)
          for (std::int64_t j = begin; j < n; ++j) want.push_back(xs[i * n + j]);
        EXPECT_EQ(doubles(y), want);
        EXPECT_TRUE(same_bits(concat_columns(std::vector{columns(x, 0, begin), y}), x));
      }
    }
  EXPECT_EQ(columns(Tensor::empty({0, 4}, DType::kF32, device()), 1, 3).shape(), (Shape{0, 2}));
}

TEST_P(OpsCombine, TransposeLast) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16})
    for (const Shape& shape : {Shape{3, 5}, Shape{2, 3, 5}, Shape{2, 2, 3, 1}, Shape{0, 3, 2}}) {
      const Tensor x = random_tensor(shape, dtype, device(), 1), y = transpose_last(x);
      const int rank = x.rank();
      const std::int64_t a = x.dim(rank - 2), b = x.dim(rank - 1);
      EXPECT_EQ(y.dim(rank - 2), b);
      const std::vector<double> from = doubles(x), to = doubles(y);
      for (std::int64_t at = 0; at < x.numel(); ++at)
        EXPECT_EQ(to[static_cast<std::size_t>(at / (a * b) * a * b + at % b * a + at / b % a)],
                  from[static_cast<std::size_t>(at)]);
    }
}

TEST_P(OpsCombine, Gradients) {
  const auto x = [&](const Shape& shape, std::uint64_t seed) {
    return random_variable(shape, device(), seed);
  };
  const auto rows = [](const auto& in) { return concat_rows({in[0], in[1], in[0]}); };
  EXPECT_TRUE(gradients_ok(rows, {x({3, 5}, 1), x({4, 5}, 2)}));
  EXPECT_TRUE(gradients_ok(rows, {x({3}, 1), x({4}, 2)}));
  EXPECT_TRUE(gradients_ok([](const auto& in) { return columns(in[0], 1, 4); }, {x({3, 5}, 1)}));
  EXPECT_TRUE(gradients_ok([](const auto& in) { return transpose_last(in[0]); }, {x({2, 3, 5}, 1)}));
  // Only where one is required.
  const Variable a = x({2, 3}, 1), constant(a.value());
  concat_rows({constant, a}).backward(Tensor::full({4, 3}, 2, DType::kF64, device()));
  EXPECT_EQ(doubles(a.grad()), std::vector<double>(6, 2));
  EXPECT_FALSE(constant.grad().defined());
}

TEST_P(OpsCombine, GradientOfColumnsIsZeroElsewhere) {
  const Poisoned poisoned;
  const Variable x(Tensor::full({2, 3}, 5, DType::kF32, device()), true);
  columns(x, 1, 2).backward(Tensor::full({2, 1}, 7, DType::kF32, device()));
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{0, 7, 0, 0, 7, 0}));
}

TEST_P(OpsCombine, RowsAreAViewAndTheirGradientIsZeroElsewhere) {
  const Poisoned poisoned;
  const Variable x(random_tensor({5, 3}, DType::kF32, device()), true);
  const Variable y = rows(x, 1, 3);
  EXPECT_TRUE(same_bits(y.value(), x.value().slice(1, 3)));
  EXPECT_EQ(y.value().raw(), x.value().slice(1, 3).raw());
  EXPECT_TRUE(gradients_ok([](const auto& in) { return rows(in[0], 1, 4); },
                           {random_variable(Shape{5, 3}, device())}));
  EXPECT_EQ(rows(x, 5, 5).shape(), (Shape{0, 3}));
  EXPECT_ERROR(rows(x, 2, 6), "[rows] [2, 6) is not within the 5 rows of x");
  EXPECT_ERROR(rows(x, -1, 6), "[rows] [-1, 6) is not within the 5 rows of x");
}

TEST_P(OpsCombine, Errors) {
  const Tensor x = Tensor::zeros({2, 3}, DType::kF32, device());
  EXPECT_ERROR(concat_rows(std::vector<Tensor>{}), "[concat_rows] needs at least one part");
  EXPECT_ERROR(concat_rows(std::vector<Variable>{Variable(x), Variable()}),
               "[concat_rows] part 1 is undefined");
  EXPECT_ERROR(concat_rows(std::vector{x, Tensor::zeros({2, 4}, DType::kF32, device())}),
               "[concat_rows] part 1 must be [2, 3], got [2, 4]");
  EXPECT_ERROR(concat_rows(std::vector{x, Tensor::zeros({2, 3}, DType::kF16, device())}),
               "[concat_rows] part 1 must have the dtype of part 0, f32, got f16");
  EXPECT_ERROR(concat_rows(std::vector{x.reshape({2, 3, 1})}),
               "[concat_rows] part 0 must be [m] or [m, n], got [2, 3, 1]");
  EXPECT_ERROR(concat_columns(std::vector{x, Tensor::zeros({3, 3}, DType::kF32, device())}),
               "[concat_columns] part 1 must be [2, 3], got [3, 3]");
  EXPECT_ERROR(columns(x, 2, 4), "[columns] [2, 4) is not within the 3 columns of x");
  EXPECT_ERROR(columns(x, 2, 1), "[columns] [2, 1) is not within the 3 columns of x");
  EXPECT_ERROR(columns(x, -1, 1), "[columns] [-1, 1) is not within the 3 columns of x");
}

}  // namespace
}  // namespace rodeo::test
