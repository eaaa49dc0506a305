#include "train/task/batch_models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/rank_memory.h"
#include "models/sage.h"
#include "models/trunk.h"
#include "train/task/fanout.h"
#include "train/task/host_features.h"
#include "train/task/layerwise.h"

namespace rodeo {
namespace {

/// Whether the model reads blocks by sums and means without plans (padded_batch.h).
bool sums_over_blocks(const TrainOptions& options) {
  return (options.aggr == Reduce::kSum || options.aggr == Reduce::kMean) &&
         (options.spmm == SpmmAlgorithm::kAuto || options.spmm == SpmmAlgorithm::kCsr);
}

/// Batch normalisation counts the rows of a block, and composed attention and weights read arrays of its
/// edges.
bool can_be_padded(const TrainOptions& options, const GcnGraph& graph) {
  if (options.trunk.norm == TrunkNorm::kBatch) return false;
  if (options.model == "gat") return options.attention != AttentionForm::kComposed;
  return sums_over_blocks(options) &&
         (options.model == "sage" || (options.model == "gcn" && !graph.weight.defined()));
}

std::vector<std::int64_t> fanout_of(const TrainOptions& options) {
  return parse_fanout(options.fanout, options.layers, options.replace);
}

/// forward(batch, x): with the features of the batch.
using BatchForward = std::function<Variable(const SampledBatch& batch, const Features& x)>;

std::shared_ptr<const MiniBatchTraining> training(const TrainOptions& options, const NodeTask& task,
                                                  const Adjacency& adj, BatchForward forward,
                                                  bool can_be_padded) {
  const auto out = std::make_shared<MiniBatchTraining>(
      MiniBatches(task.split.train, task.num_nodes, options.batch, options.seed, adj.device(),
                  has_batch_norm(options) ? 2 : 1),
      NeighborSampler(adj, {fanout_of(options), options.replace, options.seed}), nullptr, options.batch,
      can_be_padded && !options.batch_by_parts, std::string(),
      options.batch_by_parts
          ? std::optional(NodeParts(adj, task.split.train, options.batch, options.layers, options.seed))
          : std::nullopt);
  out->ranks = task.ranks;
  if (task.disk_features) {
    out->features = describe(*task.disk_features, hottest_rows(*task.disk_features, *out, options));
    out->read_features = [from = task.disk_features](const Tensor& index) { return from->read(index); };
    out->forward = [forward = std::move(forward), read = out->read_features](const SampledBatch& batch) {
      return forward(batch, Features(batch.features.defined() ? batch.features : read(batch.inputs())()));
    };
    return out;
  }
  const Tensor x = task.x.input().value();
  out->x = x;
  RowCache cache;
  if (task.features_on_host) {
    HottestRows hottest = hottest_rows(x, *out, options);
    out->features = describe(x, hottest, ranks_of_host(task.ranks).size);
    cache = std::move(hottest.cache);
  }
  out->forward = [forward = std::move(forward), x, cache](const SampledBatch& batch) {
    return forward(batch, Features(PendingRows{x, batch.inputs(), cache}));
  };
  return out;
}

/// The forward function of evaluations: --eval.
std::function<Variable()> evaluation(const TrainOptions& options, const NodeTask& task, const Adjacency& adj,
                                     const std::shared_ptr<const MiniBatchTraining>& batches,
                                     LayerwiseModel model) {
  model.gathers_inputs = task.features_on_host;
  model.read_inputs = batches->read_features;
  if (options.eval_sampled)
    return [batches, nodes = std::vector{task.split.train, task.split.val, task.split.test},
            count = task.num_nodes] { return sampled_logits(*batches, nodes, count); };
  return [layerwise = std::make_shared<const LayerwiseEvaluation>(
              adj, task.x.input().value(), std::move(model), LayerwiseEvaluation::kChunk, task.ranks)] {
    return layerwise->logits();
  };
}

}  // namespace

bool has_batch_norm(const TrainOptions& options) {
  return options.trunk.norm == TrunkNorm::kBatch || options.model == "gin";
}

void train_on_batches(NodeModel& model, Sage& sage, const TrainOptions& options, const NodeTask& task,
                      const GcnGraph& graph) {
  model.mini_batches = training(
      options, task, graph.adj,
      [&sage](const SampledBatch& batch, const Features& x) {
        std::vector<Adjacency> blocks;
        for (const Block& block : batch.blocks) blocks.push_back(block.adj);
        return sage.forward(blocks, x);
      },
      sums_over_blocks(options));
  LayerwiseModel layerwise;
  for (int i = 0; i < sage.num_layers(); ++i)
    layerwise.layers.emplace_back(
        [&sage, i](const Block& block, const Features& h) { return sage.evaluate_layer(i, block.adj, h); });
  model.forward = evaluation(options, task, graph.adj, model.mini_batches, std::move(layerwise));
}

void train_on_batches(NodeModel& model, Trunk& trunk, const TrainOptions& options, const NodeTask& task,
                      const GcnGraph& graph) {
  const Tensor degree = graph.scale.defined() ? row_degrees(graph) : Tensor();
  const auto read = [graph, degree](const Block& block) {
    return graph.scale.defined() ? gcn_block(graph, degree, block.adj, block.edge_ids, block.sources)
                                 : GcnBlock{block.adj, {}, {}, {}};
  };
  const auto forward = [&trunk, read](const SampledBatch& batch, const Features& x) {
    std::vector<GcnBlock> blocks;
    for (const Block& block : batch.blocks) blocks.push_back(read(block));
    return trunk.forward(blocks, x);
  };
  model.mini_batches = training(options, task, graph.adj, forward, can_be_padded(options, graph));
  LayerwiseModel layerwise;
  if (options.trunk.pre_linear > 0)
    layerwise.inputs = [&trunk](const Features& rows) { return trunk.evaluate_inputs(rows); };
  for (int i = 0; i < trunk.num_layers(); ++i)
    layerwise.layers.emplace_back([&trunk, i, read](const Block& block, const Features& h) {
      return trunk.evaluate_layer(i, read(block), h);
    });
  layerwise.reads_all_layers = trunk.reads_all_layers();
  if (options.trunk.has_classifier())
    layerwise.outputs = [&trunk](const std::vector<Variable>& outputs) {
      return trunk.evaluate_outputs(outputs);
    };
  model.forward = evaluation(options, task, graph.adj, model.mini_batches, std::move(layerwise));
}

std::string describe_batches(const TrainOptions& options) {
  if (options.batch_by_parts) return fmt::format(", random parts of {} nodes", options.batch);
  return fmt::format(", batches of {}, fan-out {}{}{}", options.batch, fmt::join(fanout_of(options), ", "),
                     options.replace ? " with replacement" : "",
                     options.eval_sampled ? ", sampled evaluation" : "");
}

}  // namespace rodeo
