// What operators refuse: each rule beside the nearest input that it accepts.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>

#include "core/node_partition.h"
#include "ops/aggregation.h"
#include "ops/bce.h"
#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/dot_attention.h"
#include "ops/features.h"
#include "ops/gatv2_attention.h"
#include "ops/gcn_norm.h"
#include "ops/graph_batch.h"
#include "ops/grouped_linear.h"
#include "ops/hetero_graph.h"
#include "ops/loss.h"
#include "ops/negative_edges.h"
#include "ops/norm.h"
#include "ops/optim.h"
#include "ops/regression_loss.h"
#include "ops/sample_neighbors.h"
#include "ops/segment_reduce.h"
#include "ops/soft_cross_entropy.h"
#include "ops/validate.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"

namespace rodeo::test {
namespace {

Tensor ids(const std::vector<std::int64_t>& values) {
  return Tensor::from(values);
}
Variable leaf(const Shape& shape, DType dtype = DType::kF32) {
  return Variable(Tensor::zeros(shape, dtype), true);
}

TEST(OpsRefusals, ShardsOfRectanglesAndOtherNodes) {
  const auto nodes = std::make_shared<const NodePartition>(Communicator(), std::vector<std::int64_t>{2});
  const std::string rule =
      "[shard] the graph must be square, on the host, with the nodes of the partition, got ";
  EXPECT_EQ(shard(graph_with_lengths({1, 1}, 2), nodes, kCpu, Aggregation::kRows).rows(), 2);
  EXPECT_ERROR(shard(graph_with_lengths({1, 1}, 3), nodes, kCpu), rule + "2 x 3 on cpu");
  EXPECT_ERROR(shard(graph_with_lengths({1, 1, 1}, 2), nodes, kCpu), rule + "3 x 2 on cpu");
  EXPECT_ERROR(shard(graph_with_lengths({1, 1, 1}, 3), nodes, kCpu), rule + "3 x 3 on cpu");
  EXPECT_ERROR(shard(graph_with_lengths({1, 1}, 2), nullptr, kCpu), rule + "2 x 2 on cpu");
}

TEST(OpsRefusals, LossesWithoutClassesOrRows) {
  const Tensor none = ids({}), one = ids({0}), y = ids({0, 0});
  EXPECT_ERROR(cross_entropy(Tensor::zeros({2, 0}), y, one),
               "[cross_entropy] scores must have at least one class, got [2, 0]");
  EXPECT_NO_THROW(cross_entropy(Tensor::zeros({2, 1}), y, one));
  EXPECT_ERROR(bce_with_logits(Tensor::zeros({2, 0}), Tensor::zeros({2, 0}, DType::kU8), one),
               "[bce_with_logits] x must have at least one class, got [2, 0]");
  EXPECT_NO_THROW(bce_with_logits(Tensor::zeros({2, 1}), Tensor::zeros({2, 1}, DType::kU8), one));
  EXPECT_ERROR(mse_loss(Tensor::zeros({2, 0}), Tensor::zeros({2, 0}), one),
               "[mse_loss] x has no column: the mean is undefined");
  EXPECT_ERROR(mse_loss(Tensor::zeros({2, 1}), Tensor::zeros({2, 1}), none),
               "[mse_loss] index is empty: the mean over no node is undefined");
  EXPECT_NO_THROW(mse_loss(Tensor::zeros({2, 1}), Tensor::zeros({2, 1}), one));
  const std::string vectors = "[soft_targets] label and index must be i64 vectors";
  EXPECT_NO_THROW(soft_targets(y, one, 2, {.class_weight = {1, 0}}));
  EXPECT_ERROR(soft_targets(y, one, 2, {.class_weight = {0, 1}}),
               "[soft_targets] the class weights of all named nodes are 0");
  EXPECT_ERROR(soft_targets(y.to(DType::kI32), one, 2, {}), vectors);
  EXPECT_ERROR(soft_targets(y, one.reshape({1, 1}), 2, {}), vectors);
  EXPECT_ERROR(soft_targets(y, {}, 2, {}), vectors);
  for (const double w : {-0.5, std::numeric_limits<double>::infinity()})
    EXPECT_ERROR(soft_targets(y, one, 2, {.class_weight = {1, w}}),
                 str("[soft_targets] class_weight must be finite and at least 0, got ", w));
  EXPECT_ERROR(soft_targets(y, one, 2, {.label_smoothing = 1}),
               "[soft_targets] label_smoothing must be in [0, 1), got 1");
}

TEST(OpsRefusals, OptionsOfNormsAndNumbers) {
  const std::string eps = "[batch_norm] eps must not be negative and momentum be in [0, 1], got ";
  const Variable x = leaf({2, 3});
  EXPECT_NO_THROW(batch_norm(x, {}, {}, {}, {.eps = 0, .momentum = 1}));
  EXPECT_NO_THROW(batch_norm(x, {}, {}, {}, {.momentum = 0}));
  EXPECT_ERROR(batch_norm(x, {}, {}, {}, {.eps = -1, .momentum = 1}), eps + "-1 and 1");
  EXPECT_ERROR(batch_norm(x, {}, {}, {}, {.eps = 0, .momentum = 1.5}), eps + "0 and 1.5");
  EXPECT_ERROR(batch_norm(x, {}, {}, {}, {.eps = 0, .momentum = -0.5}), eps + "0 and -0.5");
  EXPECT_ERROR(l2_normalize(x, 0), "[l2_normalize] eps must be above 0, got 0");
  const Tensor same = uniform({100}, 2, 2, {});
  EXPECT_EQ(same.to_vector<float>(), std::vector<float>(100, 2));
  EXPECT_ERROR(uniform({2}, 2, 1, {}), "[uniform] lo must not exceed hi, got [2, 1)");
  EXPECT_ERROR(uniform({2}, 0, 1, {}, DType::kBF16), "[uniform] dtype must be f32 or f64, got bf16");
}

TEST(OpsRefusals, ShapesOfCopiesAndRows) {
  const std::string last = "[transpose_last] x must be floating point with at least 2 dimensions";
  EXPECT_ERROR(transpose_last(Tensor::zeros({3})), last);
  EXPECT_ERROR(transpose_last(Tensor::zeros({2, 3}, DType::kI32)), last);
  EXPECT_ERROR(transpose_last(Tensor()), last);
  EXPECT_EQ(transpose_last(Tensor::zeros({2, 3})).shape(), (Shape{3, 2}));
  const Variable x = leaf({3, 2});
  EXPECT_EQ(rows(x, 3, 3).shape(), (Shape{0, 2}));
  EXPECT_ERROR(rows(x, 2, 4), "[rows] [2, 4) is not within the 3 rows of x");
  EXPECT_ERROR(rows(x, -1, 2), "[rows] [-1, 2) is not within the 3 rows of x");
  EXPECT_ERROR(rows(x, 2, 1), "[rows] [2, 1) is not within the 3 rows of x");
  EXPECT_ERROR(rows(leaf({}), 0, 0), "[rows] x must be [m, ...]");
  EXPECT_ERROR(take(Tensor::zeros({2, 2, 2}), ids({0})), "[take] values must be [m] or [m, n]");
  EXPECT_ERROR(take({}, ids({0})), "[take] values must be [m] or [m, n]");
  EXPECT_ERROR(take(Tensor::zeros({2}), ids({0}).to(DType::kI32)), "[take] ids must be i64 [n]");
  EXPECT_ERROR(take(Tensor::zeros({2}), ids({0}).reshape({1, 1})), "[take] ids must be i64 [n]");
  EXPECT_EQ(take(Tensor::full({2}, 5), ids({1, -1}), 7).to_vector<float>(), (std::vector<float>{5, 7}));
  EXPECT_ERROR(Features().to(DType::kF64), "[features] to() of undefined features");
  EXPECT_ERROR(Features(PendingRows{.x = Tensor::zeros({2, 2}), .index = ids({0}).to(DType::kI32)}),
               "[features] the index of pending rows must be i64 [k] on cpu");
  EXPECT_ERROR(sparse_features({}, ids({0}), Tensor::zeros({1}), 2, 2),
               "[sparse_features] row must be a vector [entries]");
  EXPECT_ERROR(sparse_features(ids({0}).reshape({1, 1}), ids({0}), Tensor::zeros({1}), 2, 2),
               "[sparse_features] row must be a vector [entries]");
  const std::string scan = "[scan_csr] col must be i32 [edges]";
  EXPECT_ERROR(scan_csr(ids({0, 1}), ids({0}), 2), scan);
  EXPECT_ERROR(scan_csr(ids({0, 1}), {}, 2), scan);
}

TEST(OpsRefusals, OperandsOfAttention) {
  const Adjacency graph = graph_with_lengths({1, 1}, 2);
  const auto x = [](std::int64_t heads, std::int64_t k, DType dtype = DType::kF32) {
    return Tensor::zeros({2, heads, k}, dtype);
  };
  const Tensor v = x(1, 3);
  EXPECT_NO_THROW(dot_attention(graph, x(1, 1), x(1, 1), v));
  EXPECT_ERROR(dot_attention(graph, {}, x(1, 1), v), "[dot_attention] q must be floating point");
  EXPECT_ERROR(dot_attention(graph, x(1, 1, DType::kI32), x(1, 1), v),
               "[dot_attention] q must be floating point");
  EXPECT_ERROR(dot_attention(graph, x(1, 0), x(1, 0), v),
               "[dot_attention] q must have k >= 1, got [2, 1, 0]");
  EXPECT_NO_THROW(dot_attention(graph, x(1, 1), x(1, 1), x(1, 1 << 18)));
  EXPECT_ERROR(dot_attention(graph, x(1, 1), x(1, 1), x(1, (1 << 18) + 1)),
               "[dot_attention] a row of v must have at most 2^18 elements, got [2, 1, 262145]");
  const Tensor a = Tensor::zeros({1, 2});
  EXPECT_NO_THROW(gatv2_attention(graph, x(1, 2), x(1, 2), a));
  EXPECT_ERROR(gatv2_attention(graph, x(1, 2, DType::kI32), x(1, 2), a),
               "[gatv2_attention] l must be floating point");
  EXPECT_ERROR(gatv2_attention(graph, {}, x(1, 2), a), "[gatv2_attention] l must be floating point");
  EXPECT_ERROR(gatv2_attention(graph, x(1, (1 << 18) + 1), x(1, (1 << 18) + 1), a),
               "[gatv2_attention] a row of l must have at most 2^18 elements, got [2, 1, 262145]");
}

TEST(OpsRefusals, GraphsOfSeveralTypes) {
  const Tensor edge = ids({0});
  const auto error = [](std::vector<NodeType> types, std::vector<EdgeType> relations = {}) {
    try {
      HeteroGraph(std::move(types), std::move(relations));
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const NodeType a{.name = "a", .count = 1};
  EXPECT_EQ(error({a}), "");
  EXPECT_EQ(error({{.name = "a", .count = 0}}), "");
  EXPECT_EQ(error({}), "[hetero_graph] a graph needs at least one node type");
  EXPECT_EQ(error({{.name = "", .count = 1}}), "[hetero_graph] a node type needs a name");
  EXPECT_EQ(error({a, a}), "[hetero_graph] there are two node types named a");
  const std::string counts = "[hetero_graph] a must have at least 0 nodes and at most as many targets, got ";
  EXPECT_EQ(error({{.name = "a", .count = -1}}), counts + "-1 and -1");
  EXPECT_EQ(error({{.name = "a", .count = 2, .targets = 3}}), counts + "2 and 3");
  EXPECT_EQ(error({{.name = "a", .count = 2, .targets = 2}}), "");
  const auto relation = [&](const char* from, const char* name) {
    return EdgeType{.src = from, .name = name, .dst = "a", .src_ids = edge, .dst_ids = edge};
  };
  EXPECT_EQ(error({a}, {relation("a", "r"), relation("a", "s")}), "");
  EXPECT_EQ(error({a}, {relation("a", "r"), relation("a", "r")}),
            "[hetero_graph] there are two relations a:r:a");
  EXPECT_EQ(error({a}, {relation("b", "r")}), "[hetero_graph] relation b:r:a has an unknown node type b");
  EXPECT_EQ(error({a}, {relation("a", "")}), "[hetero_graph] relation a::a needs a name");
  const HeteroGraph graph({a}, {relation("a", "r")});
  EXPECT_ERROR(graph.partition(0), "[hetero_graph] the graph is not a shard: see shard()");
  EXPECT_ERROR(graph.edge_means(graph.stacked(), DType::kI32),
               "[hetero_graph] edge weights must be floating point, got i32");
  EXPECT_ERROR(graph.edge_means(graph_with_lengths({1}, 1), DType::kF32),
               "[hetero_graph] edge means are those of stacked() or by_target()");
}

TEST(OpsRefusals, SetsBlocksAndSegments) {
  const Adjacency graph = graph_with_lengths({1, 1}, 2), wide = graph_with_lengths({1}, 2);
  EXPECT_NO_THROW(GraphSet(graph, ids({0, 2})));
  EXPECT_ERROR(GraphSet(wide, ids({0, 1})), "[graph_set] adj must be a square graph");
  EXPECT_ERROR(GraphSet({}, ids({0, 1})), "[graph_set] adj must be a square graph");
  EXPECT_ERROR(GraphSet(graph, ids({})), "[graph_set] graph_ptr must be i64 [graphs + 1]");
  EXPECT_ERROR(GraphSet(graph, ids({0, 2}).to(DType::kI32)),
               "[graph_set] graph_ptr must be i64 [graphs + 1]");
  EXPECT_ERROR(grouped_products(leaf({2, 2}), {}), "[grouped_products] there must be a product");
  EXPECT_ERROR(grouped_linear(Tensor::zeros({2, 2}), {}, -1, Tensor::zeros({1, 2, 2})),
               "[grouped_linear] rows must be at least 0, got -1");
  EXPECT_ERROR(segment_reduce(Tensor::zeros({2, 2}), ids({0, 2}), static_cast<Reduce>(99)),
               "[segment_reduce] reduce must be kSum, kMean, kMax or kMin");
  EXPECT_ERROR(negative_edges(Adjacency(), 1, {}), "[negative_edges] adj is undefined");
  EXPECT_ERROR(negative_edges(graph, -1, {}), "[negative_edges] count must not be negative, got -1");
  EXPECT_ERROR(negative_edges(wide, 1, {}), "[negative_edges] the graph must be square, got 1 x 2");
  const Adjacency none = graph_with_lengths({0, 0, 0}, 3);
  EXPECT_EQ(negative_edges(none, 2, {}, {.first_src = 1, .num_src = 1, .first_dst = 2})
                .dst.to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{2, 2}));
  const std::string few =
      "[negative_edges] every pair of the 3 and 0 nodes may be an edge: 0 edges, expected fewer than 0";
  EXPECT_ERROR(negative_edges(none, 1, {}, {.num_dst = 0}), few);  // -1 are all
  EXPECT_ERROR(negative_edges(none, 1, {}, {.first_src = 2, .num_src = 2}),
               "[negative_edges] the source nodes 2 to 4 are not all in a graph of 3");
}

TEST(OpsRefusals, SamplesOfNeighbours) {
  const Adjacency graph = graph_with_lengths({1, 2}, 2);
  const Tensor marks = make_node_marks(graph), one = ids({1}), count = ids({1});
  const auto error = [&](const Tensor& targets, const Tensor& number, const Tensor& with, std::int64_t fanout,
                         const SampleKey& key) {
    try {
      sample_neighbors(graph, targets, number, {.fanout = fanout}, key, with);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(error(one, count, marks, 1, {}), "");
  EXPECT_EQ(error(one, count, marks, kAllNeighbors, {}), "");
  EXPECT_EQ(error(one.to(DType::kI32), count, marks, 1, {}),
            "[sample_neighbors] targets must be i64 [t] on cpu");
  EXPECT_EQ(error(one, ids({1, 1}), marks, 1, {}), "[sample_neighbors] num_targets must be i64 [1] on cpu");
  EXPECT_EQ(error(one, count, marks.slice(0, 1), 1, {}),
            "[sample_neighbors] marks must be those of make_node_marks()");
  for (const std::int64_t fanout : {0, -2})
    EXPECT_EQ(error(one, count, marks, fanout, {}),
              str("[sample_neighbors] a fan-out must be positive, or -1 for all neighbours, got ", fanout));
  const std::string key = "[sample_neighbors] epoch must be below 2^24, batch below 2^32 and layer below 2^8";
  EXPECT_EQ(error(one, count, marks, 1, {.epoch = (1 << 24) - 1, .batch = 0xffffffff, .layer = 255}), "");
  EXPECT_EQ(error(one, count, marks, 1, {.epoch = 1 << 24}), key);
  EXPECT_EQ(error(one, count, marks, 1, {.batch = std::uint64_t{1} << 32}), key);
  EXPECT_EQ(error(one, count, marks, 1, {.layer = 256}), key);
  const NeighborSample sample = sample_neighbors(graph, one, count, {.fanout = 2}, {}, marks);
  const std::int64_t edges = sample.col.numel();
  EXPECT_NO_THROW(sampled_graph(sample, 1, 1, 0));
  EXPECT_ERROR(sampled_graph(sample, 2, 1, 0),
               "[sampled_graph] 2 x 1 with 0 edges is more than the sample has room for");
  EXPECT_ERROR(sampled_graph(sample, 1, 1, edges + 1),
               str("[sampled_graph] 1 x 1 with ", edges + 1, " edges is more than the sample has room for"));
}

}  // namespace
}  // namespace rodeo::test
