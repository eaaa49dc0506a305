#include "ops/plan/linear_plan.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/ops/gpus.h"

namespace rodeo::test {
namespace {

constexpr LinearKernel kMatmul = LinearKernel::kMatmul, kTall = LinearKernel::kTall,
                       kWgmma = LinearKernel::kWgmma;

struct PlannedProblem {
  const char* name;
  LinearProblem problem;
  LinearPlan h200, a100;
};

const PlannedProblem kPlanned[] = {
    // The first layer of a GCN with 16 hidden units: reddit, then arxiv and cora.
    {"narrow, many rows, dropout",
     {.rows = 232965, .k = 602, .n = 16, .input_dropout = 0.5},
     {kTall, kWgmma, kWgmma, true},
     {kTall, kTall, kTall, true}},
    {"narrow, many rows",
     {.rows = 169343, .k = 128, .n = 16},
     {kWgmma, kWgmma, kWgmma, true},
     {kTall, kTall, kTall, true}},
    {"narrow, few rows",
     {.rows = 2708, .k = 1000, .n = 16, .input_dropout = 0.5},
     {kTall, kWgmma, kTall, true},
     {kTall, kTall, kTall, true}},
    {"32 columns with dropout",
     {.rows = 169343, .k = 128, .n = 32, .input_dropout = 0.5},
     {kWgmma, kWgmma, kWgmma, true},
     {kTall, kTall, kTall, true}},
    {"dw with 49 columns",
     {.rows = 169343, .k = 128, .n = 49},
     {kWgmma, kWgmma, kTall, true},
     {kTall, kTall, kTall, true}},
    {"dw with few inner columns",
     {.rows = 169343, .k = 31, .n = 16},
     {kWgmma, kWgmma, kTall, true},
     {kTall, kTall, kTall, true}},
    {"wide, relu and dropout after it",
     {.rows = 169343,
      .k = 128,
      .n = 256,
      .activation = Activation::kRelu,
      .dropout = 0.5,
      .has_post_scale = true},
     {kWgmma, kWgmma, kWgmma, true},
     {}},
    {"wide, elu after it",
     {.rows = 169343, .k = 128, .n = 256, .activation = Activation::kElu},
     {kWgmma, kWgmma, kWgmma, false},
     {}},
    {"wide, dropout without relu",
     {.rows = 169343, .k = 128, .n = 256, .dropout = 0.5},
     {kWgmma, kWgmma, kWgmma, false},
     {}},
    {"dropout after it, columns that are no multiple of 4",
     {.rows = 169343, .k = 128, .n = 65, .activation = Activation::kRelu, .dropout = 0.5},
     {kWgmma, kWgmma, kWgmma, false},
     {}},
    {"x requires a gradient",
     {.rows = 169343, .k = 128, .n = 128, .x_requires_grad = true, .activation = Activation::kRelu},
     {kWgmma, kWgmma, kWgmma, false},
     {}},
    {"y is recomputed",
     {.rows = 169343, .k = 128, .n = 128, .activation = Activation::kRelu, .recompute = true},
     {kWgmma, kWgmma, kWgmma, false},
     {}},
    {"narrow, relu after it",
     {.rows = 2708, .k = 64, .n = 64, .x_requires_grad = true, .activation = Activation::kRelu},
     {kTall, kTall, kTall, false},
     {kTall, kTall, kTall, false}},
    {"narrow, wide dx",
     {.rows = 2708, .k = 65, .n = 64, .x_requires_grad = true},
     {kTall, kWgmma, kTall, true},
     {}},
    {"fewest rows",
     {.rows = 1024, .k = 64, .n = 16},
     {kTall, kTall, kTall, true},
     {kTall, kTall, kTall, true}},
    {"too few rows", {.rows = 1023, .k = 64, .n = 16}, {}, {}},
    {"inner size too large", {.rows = 2708, .k = 1433, .n = 16}, {}, {}},
    {"512 columns", {.rows = 169343, .k = 512, .n = 512}, {kWgmma, kWgmma, kWgmma, true}, {}},
    {"too many columns", {.rows = 169343, .k = 128, .n = 513}, {}, {}},
    {"no columns", {.rows = 169343, .k = 128, .n = 0}, {}, {}},
    {"no inner columns", {.rows = 169343, .k = 0, .n = 16}, {}, {}},
    {"f64", {.rows = 169343, .k = 128, .n = 16, .dtype = DType::kF64}, {}, {}},
    {"bf16", {.rows = 169343, .k = 128, .n = 16, .dtype = DType::kBF16}, {}, {}},
    {"TF32 products allowed", {.rows = 169343, .k = 128, .n = 16, .allow_tf32 = true}, {}, {}},
};

TEST(OpsLinearPlan, ChoosesKernels) {
  for (const PlannedProblem& c : kPlanned) {
    EXPECT_EQ(plan_linear(c.problem, kH200), c.h200) << c.name;
    EXPECT_EQ(plan_linear(c.problem, kA100), c.a100) << c.name;
    EXPECT_EQ(plan_linear(c.problem, {}), LinearPlan{}) << c.name << " on the CPU";
  }
}

// Narrow products change to wgmma where each multiprocessor has enough rows.
TEST(OpsLinearPlan, ManyRowsAreRowsOfAMultiprocessor) {
  const std::int64_t many = LinearLimits::kRowsPerMultiprocessor * kH200.num_multiprocessors;
  EXPECT_EQ(plan_linear({.rows = many, .k = 64, .n = 16}, kH200).forward, kWgmma);
  EXPECT_EQ(plan_linear({.rows = many - 1, .k = 64, .n = 16}, kH200).forward, kTall);
}

// Several matrices beside one another: one kernel where all its columns would be one product's.
TEST(OpsLinearPlan, ManyMatrices) {
  const LinearPlan one_kernel{kWgmma, kWgmma, kWgmma, true};
  const LinearProblem transformer{.rows = 169343, .k = 128, .n = 64, .input_dropout = 0.6};
  EXPECT_EQ(plan_linear_many(transformer, 4, kH200), one_kernel);
  EXPECT_EQ(plan_linear_many({.rows = 1024, .k = 64, .n = 40, .x_requires_grad = true}, 4, kH200),
            one_kernel);
  EXPECT_EQ(plan_linear_many(transformer, 1, kH200), LinearPlan{});
  EXPECT_EQ(plan_linear_many(transformer, 5, kH200), LinearPlan{});
  EXPECT_EQ(plan_linear_many(transformer, 4, kA100), LinearPlan{});
  EXPECT_EQ(plan_linear_many(transformer, 4, {}), LinearPlan{});
  EXPECT_EQ(plan_linear_many({.rows = 169343, .k = 128, .n = 129}, 4, kH200), LinearPlan{}) << "513 columns";
  EXPECT_EQ(plan_linear_many({.rows = 169343, .k = 128, .n = 16}, 4, kH200), LinearPlan{}) << "64 columns";
  EXPECT_EQ(plan_linear_many({.rows = 1023, .k = 128, .n = 64}, 4, kH200), LinearPlan{});
}

TEST(OpsLinearPlan, Prints) {
  EXPECT_EQ(str(LinearPlan{kWgmma, kTall, kMatmul, true}),
            "forward wgmma, dx tall, dw matmul, epilogue fused");
  EXPECT_EQ(str(LinearPlan{}), "forward matmul, dx matmul, dw matmul, epilogue separate");
}

}  // namespace
}  // namespace rodeo::test
