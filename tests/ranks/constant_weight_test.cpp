// Sums of a sharded graph with edge weights that never change, in every form, against one rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "core/cuda_graph.h"
#include "ops/aggregation.h"
#include "ops/convert.h"
#include "ops/sparse/whole_graph.h"
#include "ops/spmm.h"
#include "tests/ranks/forms.h"
#include "tests/ranks/ranks.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

/// Rank 0 has a third of the nodes, the others equally many, at multiples of 4.
std::shared_ptr<const NodePartition> partition(std::int64_t nodes) {
  const int size = ranks().size();
  std::vector<std::int64_t> rows{size == 1 ? nodes : nodes / 12 * 4};
  for (int rank = 1, others = size - 1; rank < size; ++rank) {
    const std::int64_t rest = nodes - rows.front(), share = rest / others / 4 * 4;
    rows.push_back(rank == others ? rest - share * (others - 1) : share);
  }
  return std::make_shared<const NodePartition>(ranks(), rows);
}

/// Two edges of each node but the last tenth, which has none.
Adjacency graph_of(std::int64_t nodes, bool symmetric) {
  std::vector<std::int64_t> row, col;
  const auto add = [&](std::int64_t i, std::int64_t j) {
    row.push_back(i), col.push_back(j);
    if (symmetric) row.push_back(j), col.push_back(i);
  };
  const std::int64_t connected = nodes * 9 / 10;
  for (std::int64_t i = 0; i < connected; ++i) add(i, (i + 1) % connected), add(i, (i * i + 7) % connected);
  return coo_to_csr(Tensor::from(row), Tensor::from(col), nodes, nodes).adj;
}

/// A graph, the rank's share of it, and two weights of its edges.
struct Shared {
  Adjacency graph, own;
  std::vector<Tensor> all, mine;
  Tensor of_rank(const Tensor& x) const {
    const std::int64_t begin = own.shard()->nodes->first_row();
    return x.slice(begin, begin + own.rows()).clone().to(device());
  }
};

Shared share(const Adjacency& graph, Aggregation form, DType dtype = DType::kF64) {
  Shared out{graph, shard(graph, partition(graph.rows()), device(), form), {}, {}};
  const std::int64_t begin = out.own.shard()->nodes->first_row(), end = begin + out.own.rows();
  const auto* row_ptr = graph.csr().row_ptr.data<std::int64_t>();
  for (const std::uint64_t seed : {5, 6}) {
    out.all.push_back(random_tensor({graph.num_edges()}, dtype, kCpu, seed));
    out.mine.push_back(out.all.back().slice(row_ptr[begin], row_ptr[end]).clone().to(device()));
    set_constant_weight(out.own, out.mine.back());
  }
  return out;
}

std::vector<Tensor> forward_and_backward(const Adjacency& adj, const Tensor& weight, const Tensor& x,
                                         Reduce reduce) {
  const Variable leaf(x, true), y = spmm(adj, Variable(weight), leaf, {.reduce = reduce});
  y.backward(x);
  return {y.value(), leaf.grad()};
}

TEST(OpsRanksConstantWeights, EveryFormIsEqualToOneRank) {
  for (const bool symmetric : {true, false})
    for (const std::int64_t nodes : {12, 400})
      for (const Aggregation form : all_forms()) {
        if (refuses(form, ProductKind::kConstantWeights)) continue;
        const Shared of = share(graph_of(nodes, symmetric), form);
        for (const std::int64_t n : {1, 3, 8, 41, 70})
          for (const Reduce reduce : {Reduce::kSum, Reduce::kMean})
            for (std::size_t w = 0; w < 2; ++w) {
              SCOPED_TRACE(str(form, ", ", nodes, " nodes, ", n, " columns", symmetric ? ", symmetric" : ""));
              const Tensor x = random_tensor({nodes, n}, DType::kF64, kCpu, 3);
              const auto expected = forward_and_backward(of.graph, of.all[w], x, reduce);
              const auto got = forward_and_backward(of.own, of.mine[w], of.of_rank(x), reduce);
              const auto again = forward_and_backward(of.own, of.mine[w], of.of_rank(x), reduce);
              for (std::size_t i = 0; i < 2; ++i) {
                EXPECT_TRUE(near(got[i], of.of_rank(expected[i]).to_vector<double>(), 1e-12, 1e-12));
                EXPECT_TRUE(same_bits(got[i], again[i]));
              }
            }
      }
}

TEST(OpsRanksConstantWeights, ColumnsRefuseWeightsThatMayChange) {
  const Shared of = share(graph_of(40, true), Aggregation::kColumns, DType::kF32);
  const Tensor x = Tensor::zeros({of.own.rows(), 3}, DType::kF32, device());
  const auto refused = [&](const Variable& weight) {
    try {
      spmm(of.own, weight, Variable(x));
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("without edge weights or with constant ones"),
                std::string::npos)
          << error.what();
    }
  };
  refused(Variable(of.mine[0].clone()));
  refused(Variable(of.mine[0], /*requires_grad=*/true));
  spmm(of.own, of.mine[0], x);
  EXPECT_NE(explain_aggregation(of.own).find("columns, as asked for"), std::string::npos);
}

TEST(OpsRanksConstantWeights, GraphsWithoutEdges) {
  const Tensor none = Tensor::zeros({0}, DType::kI64);
  const Adjacency graph = coo_to_csr(none, none, 20, 20).adj;
  for (const Aggregation form : all_forms()) {
    if (refuses(form, ProductKind::kConstantWeights)) continue;
    const Shared of = share(graph, form);
    const Tensor x = random_tensor({of.own.rows(), 5}, DType::kF64, device(), 3);
    for (const Tensor& result : forward_and_backward(of.own, of.mine[0], x, Reduce::kSum))
      EXPECT_TRUE(near(result, std::vector<double>(static_cast<std::size_t>(x.numel())), 0, 0));
  }
}

TEST(OpsRanksConstantWeights, WhatIsStoredIsWhatFormsRead) {
  const std::string folder = shared_path("constant");
  if (ranks().rank() == 0) std::filesystem::remove_all(folder);
  for (int round = 0; round < 3; ++round) {  // each as in a new process
    const Shared of = share(graph_of(400, false), Aggregation::kRows, DType::kF32);
    const Adjacency fresh =
        Adjacency::sharded(of.own.shard()->rows.csr(), of.own.shard()->nodes, of.own.shard()->symmetric);
    plan_shard(*fresh.shard(), Aggregation::kAuto, /*timed=*/true, folder);
    set_constant_weight(fresh, of.mine[0]);
    const Tensor x = random_tensor({fresh.rows(), 64}, DType::kF32, device(), 1);
    forward_and_backward(fresh, of.mine[0], x, Reduce::kSum);
    const AggregationChoices& choices = *shard_plan(*fresh.shard()).choices;
    ASSERT_EQ(choices.size(), 1u);
    const AggregationChoice& choice = choices.begin()->second;
    EXPECT_TRUE(choice.predicted.contains(Aggregation::kColumns));
    const std::size_t stored = whole_graphs(fresh.shard()->rows).size();  // the graph and its transpose
    EXPECT_EQ(stored, choice.form == Aggregation::kColumns ? 2u : 0u);
    EXPECT_NE(explain_aggregation(fresh).find("sum of 64 columns with constant weights, f32: "),
              std::string::npos);
  }
}

// What a product is predicted to take has its edge weights in it: each rank reads those of its edges.
TEST(OpsRanksConstantWeights, WeightsAreInThePrediction) {
  const Shared of = share(graph_of(400, false), Aggregation::kRows, DType::kF32);
  const auto predicted = [&](const char* kind) {
    const Adjacency fresh =
        Adjacency::sharded(of.own.shard()->rows.csr(), of.own.shard()->nodes, of.own.shard()->symmetric);
    plan_shard(*fresh.shard(), Aggregation::kAuto, /*timed=*/false, "");
    const Tensor x = random_tensor({fresh.rows(), 64}, DType::kF32, device(), 1);
    if (*kind == 'c') set_constant_weight(fresh, of.mine[0]);
    *kind == 's' ? spmm(fresh, x) : spmm(fresh, of.mine[0], x);
    const AggregationChoices& choices = *shard_plan(*fresh.shard()).choices;
    return choices.begin()->second.predicted.at(Aggregation::kRows);
  };
  if (ranks().size() == 1) return;
  const double sum = predicted("sum");
  EXPECT_GT(predicted("weighted"), sum);
  EXPECT_EQ(predicted("constant"), predicted("weighted"));
}

TEST(OpsRanksConstantWeights, WrongArguments) {
  const Adjacency graph = graph_of(40, true);
  const Tensor weight = Tensor::zeros({graph.num_edges()}, DType::kF32);
  EXPECT_THROW(set_constant_weight(graph, weight), Error);
  const Adjacency own = shard(graph, partition(40), device());
  EXPECT_THROW(set_constant_weight(own, Tensor::zeros({own.num_edges() + 1}, DType::kF32, device())), Error);
  EXPECT_THROW(set_constant_weight(own, Tensor::zeros({own.num_edges()}, DType::kI64, device())), Error);
}

TEST(OpsRanksConstantWeights, CanBeCaptured) {
  if (!device().is_cuda()) GTEST_SKIP() << "needs GPUs";
  for (const Aggregation form : all_forms()) {
    if (refuses(form, ProductKind::kConstantWeights)) continue;
    const Shared of = share(graph_of(4000, false), form, DType::kF32);
    const Tensor x = random_tensor({of.own.rows(), 64}, DType::kF32, device(), 1);
    const auto run = [&] { return forward_and_backward(of.own, of.mine[0], x, Reduce::kSum); };
    const auto expected = run();
    std::vector<Tensor> results;
    const auto captured = CudaGraph::capture(device(), [&] { results = run(); });
    for (int i = 0; i < 3; ++i) {
      captured.launch();
      for (std::size_t r = 0; r < 2; ++r) EXPECT_TRUE(same_bits(results[r], expected[r])) << form;
    }
  }
}

}  // namespace
}  // namespace rodeo::test
