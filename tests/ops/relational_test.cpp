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
