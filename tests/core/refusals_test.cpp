// What tensors, variables, graphs and options of core refuse: each rule beside the nearest input that it
// accepts.
#include <gtest/gtest.h>

#include <functional>
#include <sstream>

#include "core/adjacency.h"
#include "core/async_host_copy.h"
#include "core/communicator.h"
#include "core/gradcheck.h"
#include "core/launch_ranks.h"
#include "core/print.h"
#include "core/variable.h"
#include "tests/support/devices.h"

namespace rodeo::test {
namespace {

TEST(CoreRefusals, FormsOfGraphs) {
  const auto error = [](const std::function<void(Csr&)>& change) {
    Csr csr{2, 3, Tensor::from<std::int64_t>({0, 1, 2}), Tensor::from<std::int32_t>({2, 0})};
    change(csr);
    try {
      Adjacency{csr};
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const std::string range = "[adjacency] rows must be >= 0 and cols in [0, 2^31 - 1], got ";
  EXPECT_EQ(error([](Csr&) {}), "");
  EXPECT_EQ(error([](Csr& a) { a.cols = 2147483647; }), "");
  EXPECT_EQ(error([](Csr& a) { a.cols = 2147483648; }), range + "2 x 2147483648");
  EXPECT_EQ(error([](Csr& a) { a.cols = -1; }), range + "2 x -1");
  EXPECT_EQ(error([](Csr& a) { a.rows = -1; }), range + "-1 x 3");
  EXPECT_EQ(error([](Csr& a) {
              a = {0, 0, Tensor::from<std::int64_t>({0}), Tensor::empty({0}, DType::kI32)};
            }),
            "");
  EXPECT_EQ(error([](Csr& a) { a.row_ptr = {}; }), "[adjacency] row_ptr must be i64 [3]");
  EXPECT_EQ(error([](Csr& a) { a.row_ptr = a.row_ptr.to(DType::kI32); }),
            "[adjacency] row_ptr must be i64 [3]");
  EXPECT_EQ(error([](Csr& a) { a.row_ptr = a.row_ptr.slice(0, 2); }), "[adjacency] row_ptr must be i64 [3]");
  EXPECT_EQ(error([](Csr& a) { a.col = {}; }), "[adjacency] col must be i32 [edges]");
  EXPECT_EQ(error([](Csr& a) { a.col = a.col.to(DType::kI64); }), "[adjacency] col must be i32 [edges]");
  EXPECT_EQ(error([](Csr& a) { a.col = a.col.reshape({2, 1}); }), "[adjacency] col must be i32 [edges]");
  EXPECT_EQ(error([](Csr& a) {
              a.row_ptr = Tensor::from<std::int64_t>({0, 2, 1});
            }),
            "[adjacency] row_ptr decreases at row 1: 2 > 1");
  EXPECT_NE(error([](Csr& a) { a.cols = 2; }), "") << "column 2 of two";
  EXPECT_ERROR(Adjacency::sharded({}, nullptr, true), "[adjacency] a sharded graph needs a partition");
}

TEST(CoreRefusals, UndefinedTensorsAndVariables) {
  const Variable none;
  EXPECT_ERROR(Variable(Tensor()), "[variable] cannot be constructed from an undefined tensor");
  EXPECT_ERROR(none.value(), "[variable] value() of an undefined variable");
  EXPECT_ERROR(none.saved(), "[variable] saved() of an undefined variable");
  EXPECT_ERROR(none.is_leaf(), "[variable] is_leaf() of an undefined variable");
  EXPECT_ERROR(none.grad(), "[variable] grad() of an undefined variable");
  const Tensor x = Tensor::zeros({2, 3});
  EXPECT_ERROR(x.copy_from({}), "[copy_from] of or to an undefined tensor");
  EXPECT_ERROR(Tensor().copy_from(x), "[copy_from] of or to an undefined tensor");
  EXPECT_ERROR(x.copy_from(x.reshape({3, 2})), "[copy_from] source must be f32 [2, 3], got f32 [3, 2]");
  AsyncHostCopy copy;
  EXPECT_ERROR(copy.start({}), "[async_host_copy] start() with an undefined tensor");
}

TEST(CoreRefusals, ColumnsThatAMatrixHasNot) {
  const Tensor x = Tensor::full({2, 3}, 5);
  const auto rule = [](int first) {
    return str("[zero_columns] x must be a matrix with ", first, " columns or more");
  };
  zero_columns(x, 3);
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(6, 5)) << "there is no column 3";
  zero_columns(x, 2);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{5, 5, 0, 5, 5, 0}));
  zero_columns(x, 0);
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(6, 0));
  EXPECT_ERROR(zero_columns(x, 4), rule(4));
  EXPECT_ERROR(zero_columns(x, -1), rule(-1));
  EXPECT_ERROR(zero_columns(x.reshape({6}), 0), rule(0));
  EXPECT_ERROR(zero_columns({}, 0), rule(0));
}

TEST(CoreRefusals, OptionsOfPrintedTensors) {
  const auto error = [](const std::function<void(PrintOptions&)>& change) {
    PrintOptions options;
    change(options);
    try {
      to_text(Tensor::zeros({2}), options);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(error([](auto& o) { o.precision = 16, o.threshold = 0, o.edge_items = 1, o.line_width = 1; }),
            "");
  EXPECT_EQ(error([](auto& o) { o.precision = 0; }), "");
  EXPECT_EQ(error([](auto& o) { o.precision = 17; }), "[print] precision must be in [0, 16], got 17");
  EXPECT_EQ(error([](auto& o) { o.precision = -1; }), "[print] precision must be in [0, 16], got -1");
  EXPECT_EQ(error([](auto& o) { o.threshold = -1; }), "[print] threshold must be >= 0, got -1");
  EXPECT_EQ(error([](auto& o) { o.edge_items = 0; }), "[print] edge_items must be >= 1, got 0");
  EXPECT_EQ(error([](auto& o) { o.line_width = 0; }), "[print] line_width must be >= 1, got 0");
}

TEST(CoreRefusals, RanksAndTheirTimes) {
  const auto error = [](const std::function<void(CommunicatorOptions&)>& change) {
    CommunicatorOptions options;
    change(options);
    return error_of([&] { Communicator{options}; });
  };
  EXPECT_EQ(error([](auto& o) { o.timeout_seconds = 0; }),
            "[communicator] timeout_seconds must be positive, got 0");
  EXPECT_EQ(error([](auto& o) { o.silence_seconds = 0; }),
            "[communicator] silence_seconds must be positive, got 0");
  EXPECT_ERROR(launch_ranks(2, std::vector<std::string>{}), "[launch_ranks] command is empty");
  EXPECT_ERROR(launch_ranks(0, std::vector<std::string>{"true"}),
               "[launch_ranks] count must be in [1, 1024], got 0");
  EXPECT_ERROR(launch_ranks(1025, std::vector<std::string>{"true"}),
               "[launch_ranks] count must be in [1, 1024], got 1025");
}

TEST(CoreRefusals, FunctionsThatCannotBeChecked) {
  const Variable x(Tensor::full({2}, 1, DType::kF64), true);
  const auto with = [&](const Variable& y) {
    return error_of([&] { gradcheck([&](const std::vector<Variable>&) { return std::vector{y}; }, {x}); });
  };
  EXPECT_EQ(with({}), "[gradcheck] output 0 is undefined");
  EXPECT_EQ(with(Variable(Tensor::full({2}, 1), true)), "[gradcheck] the function must return f64, got f32");
}

}  // namespace
}  // namespace rodeo::test
