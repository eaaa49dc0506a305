#include "ops/grouped_linear.h"

#include "core/storage.h"
#include "ops/dense.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"

namespace rodeo::test {
namespace {

class OpsGroupedLinear : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    set_poison_memory(true);
  }
  void TearDown() override { set_poison_memory(false); }
};
RODEO_ON_ALL_DEVICES(OpsGroupedLinear);

struct GroupedCase {
  std::string name;
  std::int64_t x_rows, y_rows;
  std::vector<RowSegment> segments;
  std::int64_t blocks, k, n;  // of a block
};

const std::vector<GroupedCase>& cases() {
  static const std::vector<GroupedCase> all{
      {"one", 5, 5, {{0, 0, 5}}, 1, 3, 4},
      {"consecutive, one empty", 20, 20, row_segments({0, 7, 7, 8, 20}), 1, 8, 5},
      {"gaps", 20, 30, {{2, 3, 4}, {10, 20, 6}}, 1, 7, 16},
      {"rows of x in several segments", 9, 27, {{0, 0, 9}, {0, 9, 9}, {3, 18, 2}}, 1, 5, 3},
      {"sums of segments", 30, 11, {{0, 0, 6}, {6, 6, 5}, {11, 0, 6}, {17, 0, 6}, {23, 6, 5}}, 1, 4, 9},
      {"overlaps", 20, 12, {{0, 0, 8}, {8, 4, 8}, {2, 1, 3}}, 1, 3, 3},
      {"blocks", 40, 40, row_segments({0, 33, 40}), 4, 3, 2},
      {"blocks of one column", 12, 24, {{0, 0, 12}, {0, 12, 12}}, 3, 5, 1},
      {"skewed", 1100, 1100, row_segments({0, 1099, 1099, 1100}), 1, 33, 11},
      {"long and wide", 1060, 2100, {{0, 1060, 1030}, {10, 0, 1040}, {1040, 1040, 20}}, 1, 9, 72},
      {"two rows of x a row of y", 12, 6, {{0, 0, 6, 2}}, 1, 4, 5},
      {"folds that differ", 30, 14, {{4, 1, 5, 3}, {20, 6, 6}, {26, 12, 2, 2}}, 1, 3, 7},
      {"sums of folds", 20, 6, {{0, 0, 6, 2}, {12, 0, 6}}, 1, 5, 2},
      {"folds of blocks", 12, 5, {{0, 0, 5, 2}, {10, 4, 1, 2}}, 3, 4, 2},
      {"long folds", 4200, 1400, {{0, 0, 1400, 3}}, 1, 16, 24},
      {"no segment", 4, 3, {}, 1, 2, 2},
      {"no rows", 0, 6, {{0, 0, 0}}, 1, 2, 2},
      {"no columns of x", 3, 3, {{0, 0, 3}}, 1, 0, 2},
      {"no columns of y", 3, 3, {{0, 0, 3}}, 1, 2, 0},
  };
  return all;
}

struct Products {
  std::vector<double> y, dx, dw, db, y_scale, dx_scale, dw_scale, db_scale;
};

/// The formula, element by element.
Products reference(const GroupedCase& c, const std::vector<double>& x, const std::vector<double>& w,
                   const std::vector<double>& b, const std::vector<double>& dy) {
  Products out{std::vector<double>(dy.size()),
               std::vector<double>(x.size()),
               std::vector<double>(w.size()),
               std::vector<double>(b.size()),
               {},
               {},
               {},
               {}};
  out.y_scale = out.y, out.dx_scale = out.dx, out.dw_scale = out.dw, out.db_scale = out.db;
  const auto add = [](std::vector<double>& to, std::vector<double>& scale, std::int64_t i, double value) {
    to[static_cast<std::size_t>(i)] += value;
    scale[static_cast<std::size_t>(i)] += std::abs(value);
  };
  const auto at = [](const std::vector<double>& from, std::int64_t i) {
    return from[static_cast<std::size_t>(i)];
  };
  std::int64_t matrix = 0;
  for (std::size_t s = 0; s < c.segments.size(); matrix += c.segments[s++].fold)
    for (std::int64_t i = 0; i < c.segments[s].rows; ++i)
      for (std::int64_t block = 0; block < c.blocks; ++block)
        for (std::int64_t j = 0; j < c.n; ++j) {
          const std::int64_t ys = (c.segments[s].y_begin + i) * c.blocks * c.n + block * c.n + j;
          const std::int64_t bs = (static_cast<std::int64_t>(s) * c.blocks + block) * c.n + j;
          add(out.y, out.y_scale, ys, at(b, bs));
          add(out.db, out.db_scale, bs, at(dy, ys));
          for (std::int64_t fk = 0; fk < c.segments[s].fold * c.k; ++fk) {
            const std::int64_t f = fk / c.k, k = fk % c.k;
            const std::int64_t row = c.segments[s].x_begin + i * c.segments[s].fold + f;
            const std::int64_t xs = row * c.blocks * c.k + block * c.k + k;
            const std::int64_t ws = (((matrix + f) * c.blocks + block) * c.k + k) * c.n + j;
            add(out.y, out.y_scale, ys, at(x, xs) * at(w, ws));
            add(out.dx, out.dx_scale, xs, at(dy, ys) * at(w, ws));
            add(out.dw, out.dw_scale, ws, at(dy, ys) * at(x, xs));
          }
        }
  return out;
}

Shape weight_shape(const GroupedCase& c) {
  std::int64_t s = 0;
  for (const RowSegment& segment : c.segments) s += segment.fold;
  return c.blocks == 1 ? Shape{s, c.k, c.n} : Shape{s, c.blocks, c.k, c.n};
}

TEST_P(OpsGroupedLinear, ValuesAndGradients) {
  for (const GroupedCase& c : cases())
    for (const auto& [dtype, w_dtype] : {std::pair{DType::kF64, DType::kF64},
                                         {DType::kF32, DType::kF32},
                                         {DType::kBF16, DType::kBF16},
                                         {DType::kF16, DType::kF16},
                                         {DType::kBF16, DType::kF32}}) {
      SCOPED_TRACE(str(c.name, " ", dtype, " ", w_dtype));
      const auto segments = static_cast<std::int64_t>(c.segments.size());
      // Factors are equal in both dtypes, so that rounding an f32 weight loses nothing.
      const Variable x(random_tensor({c.x_rows, c.blocks * c.k}, dtype, device(), 1), true),
          w(random_tensor(weight_shape(c), dtype, device(), 2).to(w_dtype), true),
          b(random_tensor({segments, c.blocks * c.n}, dtype, device(), 3).to(w_dtype), true);
      const Tensor dy = random_tensor({c.y_rows, c.blocks * c.n}, dtype, device(), 4);
      const Products want =
          reference(c, doubles(x.value()), doubles(w.value()), doubles(b.value()), doubles(dy));
      const Variable y = grouped_linear(x, c.segments, c.y_rows, w, b);
      const double eps = 8 * epsilon(dtype);
      EXPECT_TRUE(near(y.value(), want.y, eps, 1e-30, want.y_scale));
      y.backward(dy);
      EXPECT_TRUE(near(x.grad(), want.dx, eps, 1e-30, want.dx_scale));
      EXPECT_TRUE(near(w.grad(), want.dw, eps, 1e-30, want.dw_scale));
      EXPECT_TRUE(near(b.grad(), want.db, eps, 1e-30, want.db_scale));
    }
}

TEST_P(OpsGroupedLinear, GradientsInFloat64) {
  for (const GroupedCase& c : cases()) {
    if (c.x_rows > 100 || c.name.starts_with("no ")) continue;
    SCOPED_TRACE(c.name);
    EXPECT_TRUE(gradients_ok(
        [&](const auto& in) { return grouped_linear(in[0], c.segments, c.y_rows, in[1], in[2]); },
        {random_variable({c.x_rows, c.blocks * c.k}, device()), random_variable(weight_shape(c), device(), 2),
         random_variable({static_cast<std::int64_t>(c.segments.size()), c.blocks * c.n}, device(), 3)}));
  }
}

// fan_out_linear is the transpose of grouped_linear: <fan_out(x), dy> = <x, grouped(dy)>, and its gradients
// are products of the other.
TEST_P(OpsGroupedLinear, FanOutIsItsTranspose) {
  for (const GroupedCase& c : cases())
    for (const auto& [dtype, w_dtype] :
         {std::pair{DType::kF64, DType::kF64}, {DType::kF32, DType::kF32}, {DType::kBF16, DType::kF32}}) {
      SCOPED_TRACE(str(c.name, " ", dtype));
      std::vector<RowSegment> segments = c.segments;
      for (RowSegment& s : segments) std::swap(s.x_begin, s.y_begin);
      const Variable x(random_tensor({c.y_rows, c.blocks * c.n}, dtype, device(), 1), true),
          w(random_tensor(weight_shape(c), dtype, device(), 2).to(w_dtype), true),
          b(random_tensor({weight_shape(c)[0], c.blocks * c.k}, dtype, device(), 3).to(w_dtype), true);
      const Tensor dy = random_tensor({c.x_rows, c.blocks * c.k}, dtype, device(), 4);
      const Products of_dy = reference(c, doubles(dy), doubles(w.value()), std::vector<double>(1000),
                                       doubles(x.value()));  // its x is dy, its dy is x
      const Variable y = fan_out_linear(x, segments, c.x_rows, w, b);
      std::vector<double> want = of_dy.dx, scale = of_dy.dx_scale, db(doubles(b.value()).size());
      std::int64_t matrix = 0;
      const std::vector<double> bias = doubles(b.value()), of_rows = doubles(dy);
      for (const RowSegment& s : c.segments) {
        for (std::int64_t i = 0; i < s.rows * s.fold; ++i)
          for (std::int64_t j = 0; j < c.blocks * c.k; ++j) {
            const auto at = static_cast<std::size_t>((s.x_begin + i) * c.blocks * c.k + j),
                       of = static_cast<std::size_t>((matrix + i % s.fold) * c.blocks * c.k + j);
            want[at] += bias[of], scale[at] += std::abs(bias[of]), db[of] += of_rows[at];
          }
        matrix += s.fold;
      }
      const double eps = 8 * epsilon(dtype);
      EXPECT_TRUE(near(y.value(), want, eps, 1e-30, scale));
      y.backward(dy);
      EXPECT_TRUE(near(x.grad(), of_dy.y, eps, 1e-30, of_dy.y_scale));
      EXPECT_TRUE(near(w.grad(), of_dy.dw, eps, 1e-30, of_dy.dw_scale));
      EXPECT_TRUE(near(b.grad(), db, 1e3 * eps, eps));
    }
}

TEST_P(OpsGroupedLinear, SeveralProductsOfOneXAreThoseOfEach) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16}) {
    SCOPED_TRACE(dtype);
    const std::int64_t rows = 2100, in = 16, out = 24;
    const auto parameter = [&](const Shape& shape, std::uint64_t seed) {
      return Variable(random_tensor(shape, dtype, device(), seed), true);
    };
    const std::vector<GroupedProduct> products{
        {.segments = {{3, 0, 2000, 3}},
         .rows = 6000,
         .w = parameter({3, out, in}, 1),
         .bias = parameter({3, out}, 2),
         .fans_out = true},
        {.segments = {{0, 0, 100}, {100, 100, 1500}}, .rows = 1700, .w = parameter({2, in, out}, 3)},
        {.segments = {{2099, 0, 1}}, .rows = 1, .w = parameter({1, in, 2}, 4)}};
    const Variable x = parameter({rows, in}, 5), alone = parameter({rows, in}, 5);
    const std::vector<Variable> y = grouped_products(x, products);
    Variable loss, loss_alone;
    for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {  // nothing depends on the third
      const auto& [segments, y_rows, w, bias, fans_out, recompute] = products[i];
      const Variable own = fans_out ? fan_out_linear(alone, segments, y_rows, w, bias)
                                    : grouped_linear(alone, segments, y_rows, w, bias);
      EXPECT_TRUE(same_bits(y[i].value(), own.value()));
      const Variable weight(random_tensor({1, y_rows}, dtype, device(), 6 + i));
      const Variable ones(Tensor::full({out, 1}, 1, dtype, device()));
      const auto add_to = [&](Variable& sum, const Variable& of) {
        const Variable term = matmul(matmul(weight, of), ones);
        sum = sum.defined() ? add(sum, term) : term;
      };
      add_to(loss, y[i]), add_to(loss_alone, own);
    }
    loss.backward();
    std::vector<Tensor> dw;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      dw.push_back(products[i].w.grad());
      Variable(products[i].w).zero_grad();
    }
    EXPECT_EQ(doubles(products[2].w.grad()), std::vector<double>(2 * in));
    loss_alone.backward();
    EXPECT_TRUE(same_bits(dw[0], products[0].w.grad()) && same_bits(dw[1], products[1].w.grad()));
    const double eps = 8 * epsilon(dtype);
    EXPECT_TRUE(near(x.grad(), doubles(alone.grad()), eps, 100 * eps));
  }
}

TEST_P(OpsGroupedLinear, Errors) {
  const Tensor x = Tensor::zeros({4, 6}, DType::kF32, device());
  const Tensor w = Tensor::zeros({1, 6, 2}, DType::kF32, device());
  EXPECT_ERROR(grouped_linear(x, {{0, 0, 4}}, 4, x),
               "[grouped_linear] w must be [matrices, in, out] or [matrices, blocks, in / blocks, out / "
               "blocks], got [4, 6]");
  EXPECT_ERROR(grouped_linear(x, {{0, 0, 4}, {0, 0, 1}}, 4, w),
               "[grouped_linear] w must have 2 matrices for 6 columns of x, got [1, 6, 2]");
  EXPECT_ERROR(grouped_linear(x, {{0, 0, 2, 0}}, 4, w),
               "[grouped_linear] fold of segment 0 must be at least 1, got 0");
  EXPECT_ERROR(grouped_linear(x, {{0, 0, 3, 2}}, 4, Tensor::zeros({2, 6, 2}, DType::kF32, device())),
               "[grouped_linear] segment 0 has the rows [0, 6) of x, which has 4");
  EXPECT_ERROR(grouped_linear(x, {{1, 0, 4}}, 4, w),
               "[grouped_linear] segment 0 has the rows [1, 5) of x, which has 4");
  EXPECT_ERROR(grouped_linear(x, {{0, 2, 4}}, 4, w),
               "[grouped_linear] segment 0 has the rows [2, 6) of y, which has 4");
  EXPECT_ERROR(grouped_linear(x, {{0, 0, 4}}, 4, w, Tensor::zeros({2}, DType::kF32, device())),
               "[grouped_linear] bias must be [1, 2], got [2]");
  EXPECT_ERROR(fan_out_linear(x, {{0, 0, 4, 2}}, 8, w),
               "[fan_out_linear] w must have 2 matrices for 6 columns of x, got [1, 6, 2]");
  EXPECT_ERROR(row_segments({0, 3, 2}), "[grouped_linear] offsets must not decrease from 0");
}

}  // namespace
}  // namespace rodeo::test
