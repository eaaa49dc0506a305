// Products of a sharded graph against one rank.
#include "ops/aggregation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>

#include "core/cuda_graph.h"
#include "core/random.h"
#include "ops/attention.h"
#include "ops/convert.h"
#include "ops/kernels/sparse.h"
#include "ops/plan/row_clusters.h"
#include "ops/sddmm.h"
#include "ops/sparse/aggregation_choice.h"
#include "ops/sparse/exchange_rates.h"
#include "ops/sparse/graph_plans.h"
#include "ops/spmm.h"
#include "tests/ranks/forms.h"
#include "tests/ranks/ranks.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

/// Nodes are equal modulo `communities` to all their neighbours, and the first node has none.
Adjacency communities_graph(std::int64_t rows, std::int64_t communities) {
  std::vector<std::int64_t> row_ptr{0};
  std::vector<std::int32_t> col;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (int e = 0; i > 0 && e < 5; ++e)
      col.push_back(static_cast<std::int32_t>(
          random_word(1, 2, col.size()) % static_cast<std::uint32_t>(rows / communities) * communities +
          i % communities));
    row_ptr.push_back(static_cast<std::int64_t>(col.size()));
  }
  return Adjacency({rows, rows, Tensor::from(row_ptr), Tensor::from(col)});
}

/// Rank 0 has `first` nodes, the others equally many, at multiples of 4.
std::shared_ptr<const NodePartition> partition(std::int64_t nodes, std::int64_t first) {
  std::vector<std::int64_t> rows{first};
  const int others = ranks().size() - 1;
  for (int rank = 0; rank < others; ++rank)
    rows.push_back(rank + 1 < others ? (nodes - first) / others / 4 * 4
                                     : nodes - first - (nodes - first) / others / 4 * 4 * (others - 1));
  if (others == 0) rows[0] = nodes;
  return std::make_shared<const NodePartition>(ranks(), rows);
}

TEST(OpsRanksOrder, ClustersAreThoseOfOneRank) {
  const std::int64_t nodes = 6000;
  const Adjacency graph = communities_graph(nodes, 60);
  const auto expected = cluster_rows(graph).to_vector<std::uint8_t>();
  for (const std::int64_t first : {0, 400, 3000}) {
    const Adjacency own = shard(graph, partition(nodes, first), device());
    const Tensor cluster = Tensor::empty({nodes}, DType::kU8, device());
    kernels::cluster_rows.on(device())(own.shard()->rows.csr(), own.shard()->nodes.get(), cluster);
    EXPECT_EQ(cluster.to_vector<std::uint8_t>(), expected);
  }
}

TEST(OpsRanksOrder, LargeGraphsHaveClustersAndSoHaveTheirTransposes) {
  const std::int64_t nodes = 1 << 19;
  const Adjacency graph = communities_graph(nodes, 64),
                  own = shard(graph, partition(nodes, 200'000), device());
  const auto expected = row_clusters(graph).to_vector<std::uint8_t>();
  const ShardedRows& share = *own.shard();
  const Tensor& cluster = row_clusters(share.rows);
  ASSERT_TRUE(cluster.defined());
  const auto begin = expected.begin() + share.nodes->first_row();
  EXPECT_EQ(cluster.to_vector<std::uint8_t>(),
            std::vector<std::uint8_t>(begin, begin + share.nodes->num_rows()));
  EXPECT_TRUE(rode_plan(share.rows).is_clustered);
  EXPECT_FALSE(rode_plan(share.rows).local_rows);
  if (ranks().size() == 1) return;
  EXPECT_EQ(row_clusters(transpose_pattern(share.rows)).to_vector<std::uint8_t>(), expected);
  EXPECT_EQ(row_clusters(transpose(share.rows).adj).to_vector<std::uint8_t>(), expected);
}

/// The first half of the nodes is a ring, with a hub; no edge ends at the last nodes.
Adjacency ring(std::int64_t nodes, bool symmetric) {
  std::vector<std::int64_t> row, col;
  const auto add = [&](std::int64_t i, std::int64_t j) {
    row.push_back(i), col.push_back(j);
    if (symmetric) row.push_back(j), col.push_back(i);
  };
  for (std::int64_t i = 0; i + nodes / 10 < nodes; ++i) {
    add(i, (i + 1) % (nodes * 9 / 10)), add(i, (i * i + 7) % (nodes * 9 / 10));
    if (i % 3 == 0) add(i, 5);
  }
  return coo_to_csr(Tensor::from(row), Tensor::from(col), nodes, nodes).adj;
}

using Operands = std::vector<Variable>;
/// y of a graph and its operands: x [nodes, ...] and weight [edges, ...].
using Product = std::function<Variable(const Adjacency&, const Operands&)>;

/// y, and the gradients of the operands for dy = a function of y's node.
std::vector<Tensor> forward_and_backward(const Adjacency& adj, const Product& product,
                                         const std::vector<Tensor>& operands, const Tensor& dy) {
  Operands leaves;
  for (const Tensor& x : operands) leaves.push_back(Variable(x, true));
  const Variable y = product(adj, leaves);
  std::vector<Tensor> out{y.value()};
  y.backward(dy);
  for (const Variable& leaf : leaves) out.push_back(leaf.grad());
  return out;
}

/// Sums the gradients of the last operands, which are parameters, over ranks.
void sum_over_ranks(std::vector<Tensor>& results, std::size_t parameters) {
  for (std::size_t i = results.size() - parameters; i < results.size(); ++i) ranks().all_reduce(results[i]);
}

/// Whether an operand has a row for each edge, and not for each node.
struct Case {
  const char* name;
  Product product;
  std::vector<Shape> shapes;  // of a node or edge, without the first dimension
  std::vector<bool> of_edges;
  Shape y;
  ProductKind kind = ProductKind::kOther;
  std::vector<Shape> parameters = {};  // operands that all ranks have, after the others
};

Shape with_rows_in_front(std::int64_t rows, const Shape& shape) {
  return shape.rank() == 0   ? Shape{rows}
         : shape.rank() == 1 ? Shape{rows, shape[0]}
                             : Shape{rows, shape[0], shape[1]};
}

std::vector<Case> products() {
  using enum ProductKind;
  const auto reduced = [](Reduce reduce) {
    return Product(
        [reduce](const Adjacency& adj, const Operands& in) { return spmm(adj, in[0], {.reduce = reduce}); });
  };
  const auto weighted = [](const Adjacency& adj, const Operands& in) { return spmm(adj, in[1], in[0]); };
  const auto attention = [](double dropout, AttentionForm form = AttentionForm::kAuto) {
    return Product([=](const Adjacency& adj, const Operands& in) {
      return gat_attention(adj, in[0], in[1], in[2], {.dropout = dropout, .key = {.seed = 7}, .form = form});
    });
  };
  const auto layer = [](const Adjacency& adj, const Operands& in) {
    return gat_self_attention(adj, in[0], in[1], in[2], {.dropout = 0.4, .key = {.seed = 8}});
  };
  const auto dots = [](const Adjacency& adj, const Operands& in) { return sddmm(adj, in[0], in[1]); };
  std::vector<Case> cases;
  for (const std::int64_t n : {1, 3, 8, 41}) {
    cases.push_back({"sum", reduced(Reduce::kSum), {{n}}, {false}, {n}, kSum});
    cases.push_back({"mean", reduced(Reduce::kMean), {{n}}, {false}, {n}, kSum});
  }
  cases.push_back({"max", reduced(Reduce::kMax), {{5}}, {false}, {5}});
  const auto weighted_mean = [](const Adjacency& adj, const Operands& in) {
    return spmm(adj, in[1], in[0], {.reduce = Reduce::kMean});
  };
  for (const std::int64_t n : {7, 70}) {  // one column block, and three
    cases.push_back({"weighted", weighted, {{n}, {}}, {false, true}, {n}, kWeightedSum});
    cases.push_back({"weighted mean", weighted_mean, {{n}, {}}, {false, true}, {n}, kWeightedSum});
  }
  cases.push_back({"sum", reduced(Reduce::kSum), {{70}}, {false}, {70}, kSum});
  cases.push_back({"heads", weighted, {{2, 7}, {2}}, {false, true}, {2, 7}});
  // Heads: one, fewer than ranks, a multiple of them, a remainder, several blocks of a pipeline.
  const std::vector<bool> nodes(3, false);
  for (const auto& [h, k] : {std::pair<std::int64_t, std::int64_t>{1, 5}, {2, 3}, {8, 4}, {7, 3}, {5, 20}}) {
    cases.push_back({"attention", attention(0), {{h}, {h}, {h, k}}, nodes, {h, k}, kAttention});
    cases.push_back(
        {"attention with dropout", attention(0.5), {{h}, {h}, {h, k}}, nodes, {h, k}, kAttention});
    cases.push_back({"composed attention",
                     attention(0.5, AttentionForm::kComposed),
                     {{h}, {h}, {h, k}},
                     nodes,
                     {h, k},
                     kComposedAttention});
    cases.push_back({"attention of a layer", layer, {{h, k}}, {false}, {h, k}, kAttention, {{h, k}, {h, k}}});
  }
  cases.push_back({"sddmm", dots, {{9}, {9}}, {false, false}, {}});
  return cases;
}

void expect_as_on_one_rank(const Case& of, const Adjacency& graph, Aggregation form, std::int64_t first) {
  const std::int64_t nodes = graph.rows();
  const Adjacency own = shard(graph, partition(nodes, first), device(), form);
  const std::int64_t begin = own.shard()->nodes->first_row(), end = begin + own.rows();
  const auto* row_ptr = graph.csr().row_ptr.data<std::int64_t>();
  const auto of_rank = [&](const Tensor& x, bool of_edges) {
    return (of_edges ? x.slice(row_ptr[begin], row_ptr[end]) : x.slice(begin, end)).clone().to(device());
  };
  std::vector<Tensor> all, mine;
  for (std::size_t i = 0; i < of.shapes.size(); ++i) {
    const std::int64_t rows = of.of_edges[i] ? graph.num_edges() : nodes;
    all.push_back(random_tensor(with_rows_in_front(rows, of.shapes[i]), DType::kF64, kCpu, 10 + i));
    mine.push_back(of_rank(all.back(), of.of_edges[i]));
  }
  for (std::size_t i = 0; i < of.parameters.size(); ++i) {
    all.push_back(random_tensor(of.parameters[i], DType::kF64, kCpu, 20 + i));
    mine.push_back(all.back().to(device()));
  }
  const bool y_of_edges = of.y.rank() == 0;
  const Tensor dy =
      random_tensor(with_rows_in_front(y_of_edges ? graph.num_edges() : nodes, of.y), DType::kF64, kCpu, 3);
  const auto expected = forward_and_backward(graph, of.product, all, dy);
  const auto run = [&] {
    auto out = forward_and_backward(own, of.product, mine, of_rank(dy, y_of_edges));
    sum_over_ranks(out, of.parameters.size());
    return out;
  };
  const auto result = run(), again = run();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE(str("result ", i));
    const bool of_parameter = i > of.of_edges.size();
    const Tensor part =
        of_parameter ? expected[i] : of_rank(expected[i], i == 0 ? y_of_edges : of.of_edges[i - 1]);
    EXPECT_TRUE(near(result[i], part.to_vector<double>(), 1e-12, 1e-12));
    EXPECT_TRUE(same_bits(result[i], again[i]));
  }
}

TEST(OpsRanksForms, AreEqualToOneRank) {
  for (const bool symmetric : {true, false})
    for (const std::int64_t nodes : {12, 400}) {
      const Adjacency graph = ring(nodes, symmetric);
      for (const Aggregation form : all_forms())
        for (const Case& of : products()) {
          SCOPED_TRACE(
              str(of.name, " ", of.y, ", ", form, ", ", nodes, " nodes", symmetric ? ", symmetric" : ""));
          if (refuses(form, of.kind)) continue;
          for (const std::int64_t first : {std::int64_t{0}, nodes / 8 * 4})
            expect_as_on_one_rank(of, graph, form, first);
        }
    }
}

TEST(OpsRanksForms, TimedChoicesAreKeptBetweenRunsAndLosersFreed) {
  const std::string folder = shared_path("aggregation");
  if (ranks().rank() == 0) std::filesystem::remove_all(folder);
  // Bytes count more than the number of collectives here, so that rows and columns are predicted to be near.
  const std::int64_t nodes = 20'000;
  const Adjacency graph = communities_graph(nodes, 4);
  std::string first;
  Tensor before;
  for (int round = 0; round < 3; ++round) {  // each as in a new process
    const Adjacency own =
        shard(graph, partition(nodes, nodes / ranks().size() / 4 * 4), device(), Aggregation::kRows);
    const Adjacency fresh =
        Adjacency::sharded(own.shard()->rows.csr(), own.shard()->nodes, own.shard()->symmetric);
    plan_shard(*fresh.shard(), Aggregation::kAuto, /*timed=*/true, folder, {.exchange_ms = 0.01});
    const Tensor x = random_tensor({own.rows(), 512}, DType::kF32, device(), 1), y = spmm(fresh, x);
    const AggregationChoices& choices = *shard_plan(*fresh.shard()).choices;
    ASSERT_EQ(choices.size(), 1u);
    const AggregationChoice& choice = choices.begin()->second;
    for (const AggregationForm* row : aggregation_forms())
      EXPECT_EQ(row->graphs && !row->graphs(fresh.shard()->rows).empty(),
                row->graphs && choice.form == row->form);
    EXPECT_EQ(choice.reason, round == 0 ? "timed" : "as timed before");
    EXPECT_NE(explain_aggregation(fresh).find("rows arrive in 0.010 ms and at 275 GB/s"), std::string::npos);
    // This form stores a graph.
    EXPECT_TRUE(round > 0 || choice.timed.contains(Aggregation::kColumns));
    const std::string form(name(choice.form));
    if (round == 0) {
      first = form, before = y;
    } else {
      EXPECT_EQ(form, first);
      EXPECT_TRUE(same_bits(y, before));
    }
  }
}

TEST(OpsRanksForms, RatesAreMeasuredOnceAndEqualOnAllRanks) {
  RODEO_NEEDS_TWO_RANKS();
  const std::string folder = shared_path("rates");
  if (ranks().rank() == 0) std::filesystem::remove_all(folder);
  const auto measured = [&](const std::string& cache) {
    const AggregationRates rates = measured_rates(ranks(), device(), cache);
    return std::vector{rates.exchange_ms, rates.exchange_bytes};
  };
  const std::vector<double> first = measured(folder);
  EXPECT_GT(first[0], 0);
  EXPECT_GT(first[1], 0);
  EXPECT_NE(first[1], AggregationRates().exchange_bytes);
  EXPECT_EQ(ranks().all_gather(Tensor::from(first)).slice(2, 4).to_vector<double>(), first);
  EXPECT_EQ(measured(folder), first);
  EXPECT_NE(measured(""), first);
}

TEST(OpsRanksForms, AttentionSaysItsForm) {
  const auto explained = [](Aggregation form, AttentionForm attention) {
    const Adjacency own = shard(ring(40, true), partition(40, 20), device(), form);
    const Tensor x = Tensor::zeros({own.rows(), 4, 16}, DType::kF32, device());
    const Tensor s = Tensor::zeros({own.rows(), 4}, DType::kF32, device());
    gat_attention(own, s, s, x, {.form = attention});
    return explain_aggregation(own);
  };
  EXPECT_EQ(explained(Aggregation::kHalo, AttentionForm::kFused), "  halo, as asked for\n");
  const std::string fused = explained(Aggregation::kAuto, AttentionForm::kAuto),
                    composed = explained(Aggregation::kAuto, AttentionForm::kComposed);
  EXPECT_NE(fused.find("  attention of 4 heads of 16 columns, f32: "), std::string::npos) << fused;
  EXPECT_NE(composed.find("  composed attention of 4 heads of 16 columns, f32: "), std::string::npos)
      << composed;
}

TEST(OpsRanksForms, GraphsWithoutEdges) {
  const Tensor none = Tensor::zeros({0}, DType::kI64);
  const Adjacency graph = coo_to_csr(none, none, 20, 20).adj;
  for (const Aggregation form : all_forms())
    for (const Case& of : products())
      if (!refuses(form, of.kind)) {
        SCOPED_TRACE(str(of.name, ", ", form));
        expect_as_on_one_rank(of, graph, form, 8);
      }
}

TEST(OpsRanksForms, RefuseWhatTheyDoNotSupport) {
  for (const bool symmetric : {true, false})
    for (const Aggregation form : all_forms())
      for (const Case& of : products()) {
        if (!refuses(form, of.kind)) continue;
        SCOPED_TRACE(str(of.name, ", ", form));
        try {
          expect_as_on_one_rank(of, ring(40, symmetric), form, 20);
          ADD_FAILURE() << "no error";
        } catch (const Error& error) {
          EXPECT_NE(std::string(error.what()).find(str("aggregation by ", form, " is for ")),
                    std::string::npos);
          EXPECT_NE(std::string(error.what()).find("choose " + forms_of_all_products()), std::string::npos);
        }
      }
}

TEST(OpsRanksForms, OperandsOfAttentionAreChecked) {
  const Adjacency own = shard(ring(40, true), partition(40, 20), device(), Aggregation::kRows);
  const Variable x(random_tensor({own.rows(), 2, 3}, DType::kF32, device(), 1)),
      a(random_tensor({2, 3}, DType::kF32, device(), 2));
  const auto error = [&](const Variable& rows, const Variable& to, const Variable& from) {
    try {
      gat_self_attention(own, rows, to, from);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(error(x, a, a), "");
  EXPECT_EQ(error(x, Variable(a.value().to(DType::kF64)), a),
            "[gat_attention] a_dst must have the dtype of x, f32, got f64");
  EXPECT_EQ(error(x, a, Variable(a.value().to(DType::kF64))),
            "[gat_attention] a_src must have the dtype of x, f32, got f64");
  EXPECT_EQ(error(x, Variable(a.value().reshape({3, 2})), a),
            "[gat_attention] a_dst must be [2, 3], got [3, 2]");
  EXPECT_EQ(error(Variable(x.value().reshape({own.rows(), 6})), a, a),
            str("[gat_attention] x must be [", own.rows(), ", heads, k], got [", own.rows(), ", 6]"));
}

TEST(OpsRanksForms, CanBeCaptured) {
  if (!device().is_cuda()) GTEST_SKIP() << "needs GPUs";
  for (const Aggregation form : all_forms()) {
    const Adjacency graph = ring(4000, true);
    const Adjacency own = shard(graph, partition(4000, 2000), device(), form);
    const Tensor x = random_tensor({own.rows(), 64}, DType::kF32, device(), 1);
    const Tensor vectors = random_tensor({8, 8}, DType::kF32, device(), 2);
    const Product sum = [](const Adjacency& adj, const Operands& in) { return spmm(adj, in[0]); };
    const Product weighted = [](const Adjacency& adj, const Operands& in) { return spmm(adj, in[1], in[0]); };
    const Product attention = [](const Adjacency& adj, const Operands& in) {
      return gat_self_attention(adj, in[0], in[1], in[1], {.dropout = 0.5, .key = {.seed = 7}});
    };
    const Tensor heads = x.reshape({own.rows(), 8, 8});
    const Tensor weights = random_tensor({own.num_edges()}, DType::kF32, device(), 3);
    std::vector<std::pair<Product, std::vector<Tensor>>> captures{{sum, {x}}, {attention, {heads, vectors}}};
    if (!refuses(form, ProductKind::kWeightedSum)) captures.push_back({weighted, {x, weights}});
    for (const auto& [product, operands] : captures) {
      const auto run = [&] { return forward_and_backward(own, product, operands, operands[0]); };
      const auto expected = run();
      std::vector<Tensor> results;
      const auto captured = CudaGraph::capture(device(), [&] { results = run(); });
      for (int i = 0; i < 3; ++i) {
        captured.launch();
        for (std::size_t r = 0; r < expected.size(); ++r)
          EXPECT_TRUE(same_bits(results[r], expected[r])) << form << " " << r;
      }
    }
  }
}

}  // namespace
}  // namespace rodeo::test
