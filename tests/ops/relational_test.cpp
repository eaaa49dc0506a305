#include "ops/relational.h"

#include "ops/plan/relational_plan.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/hetero.h"

namespace rodeo::test {
namespace {

class OpsRelational : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsRelational);

constexpr RelationalOrder kOrders[] = {RelationalOrder::kTransformFirst, RelationalOrder::kAggregateFirst};

TEST_P(OpsRelational, BothOrdersSumOverRelations) {
  constexpr std::int64_t kIn = 6, kOut = 4;
  const HeteroGraph whole = small_hetero_graph(device()).add_reverse();
  for (const HeteroGraph& graph : {whole, whole.with_targets_of(1)})
    for (const Reduce reduce : {Reduce::kMean, Reduce::kSum})
      for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16}) {
        const Tensor x = random_tensor({graph.num_nodes(), kIn}, dtype, device(), 1),
                     w = random_tensor({graph.num_relations(), kIn, kOut}, dtype, device(), 2);
        const std::vector<double> xs = doubles(x), ws = doubles(w);
        std::vector<double> want(static_cast<std::size_t>(graph.num_rows() * kOut));
        for_each_edge(graph, [&](int r, std::int64_t j, std::int64_t i, std::int64_t degree) {
          for (std::int64_t k = 0; k < kIn; ++k)
            for (std::int64_t c = 0; c < kOut; ++c)
              want[static_cast<std::size_t>((graph.first_row(graph.dst_type(r)) + i) * kOut + c)] +=
                  xs[static_cast<std::size_t>((graph.first_node(graph.src_type(r)) + j) * kIn + k)] *
                  ws[static_cast<std::size_t>((r * kIn + k) * kOut + c)] /
                  (reduce == Reduce::kMean ? static_cast<double>(degree) : 1);
        });
        for (const RelationalOrder order : kOrders) {
          SCOPED_TRACE(str(order, " ", reduce, " ", dtype));
          const Variable y =
              relational_linear(graph, Variable(x), Variable(w), {.reduce = reduce, .order = order});
          EXPECT_TRUE(near(y.value(), want, 64 * epsilon(dtype), 64 * epsilon(dtype)));
        }
      }
}

TEST_P(OpsRelational, GradientsInFloat64) {
  const HeteroGraph graph = small_hetero_graph(device());
  for (const RelationalOrder order : kOrders)
    for (const Shape& shape : {Shape{4, 6, 4}, Shape{4, 2, 3, 2}})
      EXPECT_TRUE(gradients_ok(
          [&](const auto& in) { return relational_linear(graph, in[0], in[1], {.order = order}); },
          {random_variable({graph.num_nodes(), 6}, device()), random_variable(shape, device(), 2)}));
}

TEST(OpsRelationalPlan, TakesTheNarrowSideAndPrintsBoth) {
  const RelationalSizes wide_in{.edges = 1000, .stack = 100, .targets = 100, .in = 100, .out = 10},
      wide_out{.edges = 1000, .stack = 100, .targets = 100, .in = 10, .out = 100};
  EXPECT_EQ(plan_relational(wide_in, RelationalOrder::kAuto).order, RelationalOrder::kTransformFirst);
  EXPECT_EQ(plan_relational(wide_out, RelationalOrder::kAuto).order, RelationalOrder::kAggregateFirst);
  EXPECT_EQ(plan_relational(wide_in, RelationalOrder::kAggregateFirst).order,
            RelationalOrder::kAggregateFirst);
  EXPECT_TRUE(str(plan_relational(wide_in, RelationalOrder::kAuto)).starts_with("transform-first ("));
}

// Bytes: two sums over 1000 edges and three products; one sum and two products where x does not learn.
TEST(OpsRelationalPlan, CostsOfBothOrders) {
  const RelationalSizes sizes{
      .edges = 1000, .stack = 100, .targets = 150, .rows = 50, .in = 8, .out = 4, .element_bytes = 4};
  const auto expect = [](const RelationalSizes& s, double transform, double aggregate) {
    const RelationalPlan plan = plan_relational(s, RelationalOrder::kAuto);
    EXPECT_NEAR(plan.transform_first, transform, 0.1);
    EXPECT_NEAR(plan.aggregate_first, aggregate, 0.1);
    EXPECT_EQ(plan.order,
              transform < aggregate ? RelationalOrder::kTransformFirst : RelationalOrder::kAggregateFirst);
  };
  expect(sizes, 2 * 20000 + 3 * (426.67 + 4800), 2 * 36000 + 3 * (640 + 5600));
  RelationalSizes fixed = sizes, sum = sizes, blocks = sizes, half = sizes;
  fixed.x_learns = false;
  expect(fixed, 2 * 20000 + 2 * (426.67 + 4800), 36000 + 2 * (640 + 5600));
  sum.mean = false;
  expect(sum, 2 * 16000 + 3 * (426.67 + 4800), 2 * 32000 + 3 * (640 + 5600));
  blocks.blocks = 2;
  expect(blocks, 2 * 20000 + 3 * (213.33 + 4800), 2 * 36000 + 3 * (320 + 5600));
  half.element_bytes = 2;
  expect(half, 2 * 10000 + 3 * (426.67 + 2400), 2 * 18000 + 3 * (640 + 2800));
  const RelationalSizes same{.edges = 10, .stack = 5, .targets = 5, .rows = 5, .in = 4, .out = 4};
  EXPECT_EQ(plan_relational(same, RelationalOrder::kAuto).order, RelationalOrder::kAggregateFirst);
}

TEST(OpsRelationalErrors, NameWhatIsWrong) {
  const HeteroGraph graph = small_hetero_graph(kCpu);
  const Variable x(Tensor::zeros({12, 3})), w(Tensor::zeros({4, 3, 2}));
  EXPECT_ERROR(relational_linear(graph, Variable(Tensor::zeros({11, 3})), w),
               "[relational_linear] x must have 12 rows, one a node, got [11, 3]");
  EXPECT_ERROR(relational_linear(graph, x, Variable(Tensor::zeros({3, 3, 2}))),
               "[relational_linear] w must be [4, in, out] or block-diagonal, got [3, 3, 2]");
  EXPECT_ERROR(relational_linear(graph, x, w, {.reduce = Reduce::kMax}),
               "[relational_linear] reduce must be sum or mean, got max");
}

}  // namespace
}  // namespace rodeo::test
