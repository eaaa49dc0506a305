#include "bench/large_run.h"

#include <algorithm>
#include <utility>

#include "models/gcn.h"
#include "ops/aggregation.h"
#include "ops/convert.h"
#include "ops/select_rows.h"
#include "train/classification.h"
#include "train/precision.h"
#include "train/task/counted.h"
#include "train/task/criteria.h"
#include "train/task/model_registry.h"
#include "train/task/trunk_model.h"

namespace rodeo::bench {
namespace {

void set_sizes(NodeTask& task, const LargeGraph& graph) {
  task.num_nodes = graph.nodes, task.num_features = graph.features, task.num_classes = graph.classes;
}

/// A GCN on a graph that is drawn on the device. As in ogbn-papers100M few nodes have a label, so that the
/// last layer computes these alone; the layers before compute all nodes.
NodeRun draw_gcn(const LargeGraph& graph, const TrainOptions& training, Device device) {
  NodeRun run;
  NodeTask& task = run.task;
  const GcnGraph normalized = gcn_norm(draw_graph(graph, device));
  transpose_pattern(normalized.adj);  // finds out that it is symmetric, before memory is short
  task.x = Features(draw_features(graph, activation_dtype(training.precision), device));
  verify_sums(normalized.adj, task.x.input().value());
  task.num_edges = normalized.adj.num_edges() - graph.nodes;
  set_sizes(task, graph);
  auto gcn = std::make_unique<Gcn>(GcnOptions{.in = graph.features,
                                              .hidden = training.hidden,
                                              .classes = graph.classes,
                                              .layers = training.layers,
                                              .dropout = training.dropout,
                                              .input_dropout = training.input_dropout},
                                   Random(training.seed), device);
  run.model.groups = {{gcn->parameters(), {.lr = training.lr}}};
  // The labelled nodes are the examples: training, validation and test nodes, in this order.
  const std::int64_t train = graph.train, val = train + graph.val, test = val + graph.test;
  const auto criterion = [&](std::int64_t count) {
    std::vector<std::int64_t> label;
    for (std::int64_t i = 0; i < count; ++i) label.push_back(i % graph.classes);
    const Tensor all = counted(count, device);
    const auto ids = [&](std::int64_t begin, std::int64_t end) {
      return all.slice(std::min(begin, count), std::min(end, count));
    };
    return std::make_shared<Classification>(
        Tensor::from(label, device), Split{ids(0, train), ids(train, val), ids(val, test)}, graph.classes);
  };
  const auto last_layer = [&](std::int64_t count) {
    return select_rows(normalized, labelled_nodes(graph, 0, count).to(device));
  };
  run.model.parts.criterion = criterion(train);
  run.model.parts.metrics = criterion(test);
  run.model.predict = [gcn = gcn.get(), normalized, x = task.x, training = last_layer(train),
                       all = last_layer(test)](const StepInput&) {
    return gcn->forward(normalized, x, gcn->training() ? training : all);
  };
  run.model.adj = normalized.adj;
  run.model.module = std::move(gcn);
  return run;
}

/// Equal ranges: hubs are anywhere in the order of nodes.
std::shared_ptr<const NodePartition> equal_ranges(std::int64_t nodes, const Communicator& ranks) {
  constexpr std::int64_t kAlign = 4;  // NodePartition
  std::vector<std::int64_t> rows;
  for (std::int64_t r = 0, begin = 0; r < ranks.size(); ++r) {
    const std::int64_t end = r + 1 == ranks.size() ? nodes : (r + 1) * nodes / ranks.size() / kAlign * kAlign;
    rows.push_back(end - begin);
    begin = end;
  }
  return std::make_shared<const NodePartition>(ranks, std::move(rows));
}

/// The rank's rows of the graph that the model reads.
ModelGraph draw_shard(const LargeGraph& graph, GraphInput input,
                      const std::shared_ptr<const NodePartition>& nodes, Device device) {
  const bool normalizes = input == GraphInput::kGcnNorm;
  const Adjacency rows = draw_rows(graph, nodes->first_row(), nodes->num_rows(), normalizes, device);
  ModelGraph out{rows, {}, false, {}};
  if (nodes->ranks().size() > 1) {
    out.adj = Adjacency::sharded(rows.csr(), nodes, /*symmetric=*/true);
    prepare_shard(out.adj);
  } else {
    transpose_pattern(rows);  // finds out that it is symmetric, before memory is short
  }
  if (normalizes) out.normalized = {out.adj, {}, inverse_sqrt_degrees(Adjacency::trusted(rows.csr()), {})};
  return out;
}

/// The rank's labelled nodes of [first, first + count), as rows of the rank. Sets their labels.
Tensor draw_part(const LargeGraph& graph, std::int64_t first, std::int64_t count, std::int64_t first_row,
                 std::vector<std::int64_t>& label) {
  std::vector<std::int64_t> own;
  const std::vector<std::int64_t> all = labelled_nodes(graph, first, count).to_vector<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = all[static_cast<std::size_t>(i)] - first_row;
    if (row < 0 || row >= std::ssize(label)) continue;
    label[static_cast<std::size_t>(row)] = (first + i) % graph.classes;
    own.push_back(row);
  }
  return Tensor::from(own);
}

}  // namespace

NodeRun draw_run(const LargeGraph& graph, const TrainOptions& options, Device device,
                 const Communicator& ranks) {
  check(options.model == "gcn" || options.model == "sage", "--graph ", graph.name,
        " is for --model gcn and sage, got ", options.model);
  if (options.model == "gcn" && ranks.size() == 1) return draw_gcn(graph, options, device);
  NodeRun run;
  NodeTask& task = run.task;
  set_sizes(task, graph);
  const auto nodes = equal_ranges(graph.nodes, ranks);
  const ModelGraph shard = draw_shard(graph, traits_of(options).graph, nodes, device);
  const std::int64_t first = nodes->first_row(), own = nodes->num_rows();
  task.x = Features(draw_features(graph, first, own, activation_dtype(options.precision), device));
  std::vector<std::int64_t> label(static_cast<std::size_t>(own));
  task.split.train = draw_part(graph, 0, graph.train, first, label).to(device);
  task.split.val = draw_part(graph, graph.train, graph.val, first, label).to(device);
  task.split.test = draw_part(graph, graph.train + graph.val, graph.test, first, label).to(device);
  task.label = Tensor::from(label, device);
  const Tensor edges = Tensor::from(std::vector{shard.adj.num_edges()});
  ranks.all_reduce(edges);
  task.num_edges = edges.to_vector<std::int64_t>()[0] - (shard.normalized.adj.defined() ? graph.nodes : 0);
  if (ranks.size() > 1) task.partition = nodes;
  TrainOptions training = options;
  training.prune_rows = options.model == "gcn";
  run.model = make_model(training, task, shard);
  run.model.adj = shard.adj.is_sharded() ? shard.adj.shard()->rows : shard.adj;
  set_criterion(run, training);
  return run;
}

}  // namespace rodeo::bench
