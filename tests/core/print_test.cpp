#include "core/print.h"

#include <cmath>
#include <iomanip>
#include <limits>
#include <numeric>
#include <sstream>

#include "core/memory_stats.h"
#include "tests/support/devices.h"

namespace rodeo::test {
namespace {

class CorePrint : public OnDevice {
 protected:
  template <class T>
  static Tensor tensor(const std::vector<T>& values, const Shape& shape) {
    return Tensor::from(values, shape, device());
  }
  static Tensor range(const Shape& shape) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(shape.numel()));
    std::iota(values.begin(), values.end(), 0);
    return Tensor::from(values, shape, device());
  }
  /// The last line.
  static std::string facts(const std::string& dtype_and_shape) {
    return str("\n", dtype_and_shape, " on ", device());
  }
};
RODEO_ON_ALL_DEVICES(CorePrint);

TEST(CorePrintBytes, UnitsChangeAt1024) {
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.00 KiB");
  EXPECT_EQ(format_bytes(-1536), "-1.50 KiB");
  EXPECT_EQ(format_bytes(1 << 20), "1.00 MiB");
  EXPECT_EQ(format_bytes(2048.0 * (1LL << 40)), "2048.00 TiB");
}

TEST_P(CorePrint, RowsAreAligned) {
  EXPECT_EQ(str(tensor<float>({0.5, -1.25, 20, 3}, {2, 2})),
            "[[ 0.5000, -1.2500],\n [20.0000,  3.0000]]" + facts("f32 [2, 2]"));
  EXPECT_EQ(str(tensor<std::int32_t>({1, -20, 300}, {3})), "[  1, -20, 300]" + facts("i32 [3]"));
  EXPECT_EQ(str(range({2, 1, 2})), "[[[0, 1]],\n\n [[2, 3]]]" + facts("i64 [2, 1, 2]"));
}

TEST_P(CorePrint, EveryDtype) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16})
    EXPECT_EQ(str(Tensor::full({2}, 0.5, dtype, device())), "[0.5000, 0.5000]" + facts(str(dtype, " [2]")));
  for (const DType dtype : {DType::kI64, DType::kI32, DType::kU8})
    EXPECT_EQ(str(Tensor::full({2}, 7, dtype, device())), "[7, 7]" + facts(str(dtype, " [2]")));
  const std::int64_t large = std::numeric_limits<std::int64_t>::max();  // no double holds it
  EXPECT_EQ(str(tensor<std::int64_t>({large}, {1})), "[9223372036854775807]" + facts("i64 [1]"));
}

TEST_P(CorePrint, FloatsHaveOneForm) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  EXPECT_EQ(str(tensor<double>({1, -2, 0}, {3})), "[ 1., -2.,  0.]" + facts("f64 [3]"));
  EXPECT_EQ(str(tensor<double>({nan, -inf, inf, 2}, {4})), "[ nan, -inf,  inf,   2.]" + facts("f64 [4]"));
  EXPECT_EQ(str(tensor<double>({nan, 0.25}, {2})), "[   nan, 0.2500]" + facts("f64 [2]"));
  EXPECT_EQ(str(tensor<double>({0.00001, -0.5}, {2})), "[ 1.0000e-05, -5.0000e-01]" + facts("f64 [2]"));
  EXPECT_EQ(str(tensor<double>({0.5, 1000}, {2})), "[5.0000e-01, 1.0000e+03]" + facts("f64 [2]"));
  EXPECT_EQ(str(tensor<double>({0, 1e8}, {2})), "[0.0000e+00, 1.0000e+08]" + facts("f64 [2]"));
  EXPECT_EQ(str(tensor<double>({1, 99999999}, {2})), "[       1., 99999999.]" + facts("f64 [2]"));
}

TEST_P(CorePrint, ScalarsAndEmptyTensors) {
  EXPECT_EQ(str(tensor<float>({3.5}, {})), "3.5000" + facts("f32 []"));
  EXPECT_EQ(str(Tensor::zeros({0}, DType::kF32, device())), "[]" + facts("f32 [0]"));
  EXPECT_EQ(str(Tensor::zeros({3, 0, 2}, DType::kI64, device())), "[]" + facts("i64 [3, 0, 2]"));
  EXPECT_EQ(str(Tensor()), "undefined tensor");
  EXPECT_EQ(str(Variable()), "undefined variable");
}

TEST_P(CorePrint, MoreThanAThousandElementsAreSummarised) {
  EXPECT_EQ(str(range({1001})), "[   0,    1,    2, ...,  998,  999, 1000]" + facts("i64 [1001]"));
  EXPECT_EQ(str(range({1000})).find("..."), std::string::npos);
  EXPECT_EQ(str(range({200, 7})),
            "[[   0,    1,    2, ...,    4,    5,    6],\n"
            " [   7,    8,    9, ...,   11,   12,   13],\n"
            " [  14,   15,   16, ...,   18,   19,   20],\n"
            " ...,\n"
            " [1379, 1380, 1381, ..., 1383, 1384, 1385],\n"
            " [1386, 1387, 1388, ..., 1390, 1391, 1392],\n"
            " [1393, 1394, 1395, ..., 1397, 1398, 1399]]" +
                facts("i64 [200, 7]"))
      << "three at each end";
  const std::string cube = to_text(range({3, 5, 4}), {.threshold = 10, .edge_items = 1});
  EXPECT_EQ(cube,
            "[[[ 0, ...,  3],\n  ...,\n  [16, ..., 19]],\n\n ...,\n\n"
            " [[40, ..., 43],\n  ...,\n  [56, ..., 59]]]" +
                facts("i64 [3, 5, 4]"));
}

TEST_P(CorePrint, NothingIsLeftOutWhereBothEndsAreAll) {
  const PrintOptions two{.threshold = 3, .edge_items = 2};
  EXPECT_EQ(to_text(range({3}), two), "[0, 1, 2]" + facts("i64 [3]"));  // at the threshold
  EXPECT_EQ(to_text(range({4}), two), "[0, 1, 2, 3]" + facts("i64 [4]"));
  EXPECT_EQ(to_text(range({5}), two), "[0, 1, ..., 3, 4]" + facts("i64 [5]"));
  EXPECT_EQ(to_text(range({5}), {.threshold = 5, .edge_items = 2}), "[0, 1, 2, 3, 4]" + facts("i64 [5]"));
}

// Numbers from 1e8 on, from four digits apart, and below 1e-4 have an exponent.
TEST_P(CorePrint, ExponentsBeginAtTheirBounds) {
  const auto text = [&](std::vector<double> values) {
    return to_text(tensor<double>(values, {std::ssize(values)}), {.precision = 1}).substr(0, 9);
  };
  EXPECT_EQ(text({99999999}), "[99999999");
  EXPECT_EQ(text({1e8}), "[1.0e+08]");
  EXPECT_EQ(text({0.5, 500}), "[  0.5, 5");
  EXPECT_EQ(text({0.5, 501}), "[5.0e-01,");
  EXPECT_EQ(text({0.0001}), "[0.0]\nf64");
  EXPECT_EQ(text({0.00009}), "[9.0e-05]");
}

TEST_P(CorePrint, LongRowsGoOnInTheNextLine) {
  EXPECT_EQ(to_text(range({2, 5}), {.line_width = 10}),
            "[[0, 1, 2,\n  3, 4],\n [5, 6, 7,\n  8, 9]]" + facts("i64 [2, 5]"));
  EXPECT_EQ(to_text(range({2}), {.line_width = 1}), "[0,\n 1]" + facts("i64 [2]"));
  std::istringstream text(str(range({999})));
  for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST_P(CorePrint, VariablesSayWhetherTheyRequireAGradient) {
  const Tensor x = tensor<float>({1, 2}, {2});
  EXPECT_EQ(str(Variable(x)), str(x));
  EXPECT_EQ(str(Variable(x, true)), "[1., 2.]" + facts("f32 [2]") + ", requires grad");
}

TEST_P(CorePrint, OptionsAndTheStateOfTheStream) {
  const Tensor x = tensor<double>({0.125}, {1});
  EXPECT_EQ(to_text(x, {.precision = 1}), "[0.1]" + facts("f64 [1]"));
  std::ostringstream out;
  out << std::hex << std::setprecision(9) << std::scientific << tensor<std::int32_t>({255}, {1}) << x;
  EXPECT_EQ(out.str(), "[255]" + facts("i32 [1]") + "[0.1250]" + facts("f64 [1]"));
  EXPECT_ERROR(to_text(x, {.precision = 17}), "[print] precision must be in [0, 16], got 17");
  EXPECT_ERROR(to_text(x, {.edge_items = 0}), "[print] edge_items must be >= 1, got 0");
}

}  // namespace
}  // namespace rodeo::test
