#include "train/task/batch_models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/rank_memory.h"
#include "models/trunk.h"
#include "ops/convert.h"
#include "train/task/fanout.h"
#include "train/task/host_features.h"
#include "train/task/layerwise.h"
#include "train/task/model_registry.h"

namespace rodeo {
namespace {

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
  return options.trunk.norm == TrunkNorm::kBatch || conv_traits_of(options).batch_norm;
}

void train_on_batches(NodeModel& model, Trunk& trunk, const TrainOptions& options, const NodeTask& task,
                      const ConvGraph& graph) {
  const GcnGraph whole{graph.adj, graph.weight, graph.row_scale};
  const Tensor degree = whole.scale.defined() ? row_degrees(whole) : Tensor();
  const auto read = [whole, degree, attr = graph.edge_attr](const Block& block) {
    const GcnBlock sampled = degree.defined()
                                 ? gcn_block(whole, degree, block.adj, block.edge_ids, block.sources)
                                 : GcnBlock{block.adj, {}, {}, {}};
    return ConvGraph(sampled, attr.defined() ? Variable(take(attr.value(), block.edge_ids)) : Variable());
  };
  const auto forward = [&trunk, read](const SampledBatch& batch, const Features& x) {
    std::vector<ConvGraph> blocks;
    for (const Block& block : batch.blocks) blocks.push_back(read(block));
    return trunk.forward(blocks, x);
  };
  model.mini_batches = training(options, task, graph.adj, forward, trunk.can_be_padded(graph));
  LayerwiseModel layerwise;
  if (trunk.has_inputs())
    layerwise.inputs = [&trunk](const Features& rows) { return trunk.evaluate_inputs(rows); };
  for (int i = 0; i < trunk.num_layers(); ++i)
    layerwise.layers.emplace_back([&trunk, i, read](const Block& block, const Features& h) {
      return trunk.evaluate_layer(i, read(block), h);
    });
  layerwise.reads_all_layers = trunk.reads_all_layers();
  if (trunk.has_outputs())
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
