#include "train/task/batch_models.h"

#include <fmt/format.h>

#include "core/text.h"
#include "models/trunk.h"
#include "ops/convert.h"
#include "train/task/hottest_rows.h"
#include "train/task/layerwise.h"
#include "train/task/model_registry.h"
#include "train/task/option_value.h"

namespace rodeo {
namespace {

std::shared_ptr<const MiniBatchTraining> make_batches(const TrainOptions& options, const NodeTask& task,
                                                      const Adjacency& adj, bool can_be_padded) {
  const auto out = std::make_shared<MiniBatchTraining>(
      MiniBatchTraining{.batches = MiniBatches(task.split.train, task.num_nodes, options.batch, options.seed,
                                               adj.device(), has_batch_norm(options) ? 2 : 1),
                        .sampler = NeighborSampler(adj, {fanout_of(options), options.replace, options.seed}),
                        .batch_size = options.batch,
                        .can_be_padded = can_be_padded && !options.batch_by_parts});
  if (options.batch_by_parts)
    out->parts.emplace(adj, task.split.train, options.batch, options.layers, options.seed);
  out->ranks = task.ranks;
  if (task.disk_features) {
    out->features = hottest_rows(*task.disk_features, *out, options).text;
    out->read_features = [from = task.disk_features](const Tensor& index) { return from->read(index); };
    return out;
  }
  if (task.feature_rows) {
    const auto from = std::make_shared<PeerRows>(task.x.input().value(), task.feature_rows);
    out->features = hottest_rows(*from, *out, options).text;
    out->read_features = [from](const Tensor& index) { return [from, index] { return from->read(index); }; };
    return out;
  }
  out->x = task.x.input().value();
  if (task.features_on_host) {
    HottestRows hottest = hottest_rows(out->x, *out, options);
    out->features = std::move(hottest.text);
    out->cache = std::move(hottest.cache);
  }
  return out;
}

Features features_of(const MiniBatchTraining& batches, const SampledBatch& batch) {
  if (!batches.read_features) return Features(PendingRows{batches.x, batch.inputs(), batches.cache});
  return Features(batch.features.defined() ? batch.features : batches.read_features(batch.inputs())());
}

/// What a block's layer reads of the whole graph.
auto block_reader(const ConvGraph& graph) {
  const GcnGraph whole{graph.adj, graph.weight, graph.row_scale};
  const Tensor degree = whole.scale.defined() ? row_degrees(whole) : Tensor();
  return [whole, degree, attr = graph.edge_attr](const Block& block) {
    const GcnBlock sampled = degree.defined()
                                 ? gcn_block(whole, degree, block.adj, block.edge_ids, block.sources)
                                 : GcnBlock{block.adj, {}, {}, {}};
    return ConvGraph(sampled, attr.defined() ? Variable(take(attr.value(), block.edge_ids)) : Variable());
  };
}

}  // namespace

std::vector<std::int64_t> fanout_of(const TrainOptions& options) {
  constexpr std::int64_t kDefault = 10;
  const auto layers = static_cast<std::size_t>(options.layers);
  if (options.fanout.empty()) return std::vector(layers, kDefault);
  const auto fanout = parse_option_numbers<std::int64_t>(
      "fanout", options.fanout, "positive numbers, or -1 for all neighbours (not with --replace)",
      [&](std::int64_t count) { return count > 0 || (count == kAllNeighbors && !options.replace); });
  check(fanout.size() == layers, "--fanout needs a number for each of the ", layers, " layers, got '",
        options.fanout, "'");
  return fanout;
}

bool has_batch_norm(const TrainOptions& options) {
  return options.trunk.norm == TrunkNorm::kBatch || traits_of(options).batch_norm;
}

void train_on_batches(NodeModel& model, Trunk& trunk, const TrainOptions& options, const NodeTask& task,
                      const ConvGraph& graph) {
  const auto batches = make_batches(options, task, graph.adj, trunk.can_be_padded(graph));
  const auto read = block_reader(graph);
  const auto forward = [&trunk, read, batches](const SampledBatch& batch) {
    std::vector<ConvGraph> blocks;
    for (const Block& block : batch.blocks) blocks.push_back(read(block));
    return trunk.forward(blocks, features_of(*batches, batch));
  };
  model.mini_batches = batches;
  if (options.eval_sampled) {
    model.predict = [forward, batches, nodes = std::vector{task.split.train, task.split.val, task.split.test},
                     count = task.num_nodes](const StepInput& in) {
      return in.batch ? forward(*in.batch) : sampled_logits(*batches, forward, nodes, count);
    };
    return;
  }
  LayerwiseModel layerwise;
  layerwise.gathers_inputs = task.features_on_host;
  layerwise.read_inputs = batches->read_features;
  layerwise.reads_all_layers = trunk.reads_all_layers();
  layerwise.reads_initial = trunk.reads_initial();
  if (trunk.has_inputs())
    layerwise.inputs = [&trunk](const Features& rows) { return trunk.evaluate_inputs(rows); };
  for (int i = 0; i < trunk.num_layers(); ++i)
    layerwise.layers.emplace_back(
        [&trunk, i, read](const Block& block, const Features& h, const Variable& initial) {
          return trunk.evaluate_layer(i, read(block), h, initial);
        });
  if (trunk.has_outputs())
    layerwise.outputs = [&trunk](const std::vector<Variable>& outputs) {
      return trunk.evaluate_outputs(outputs);
    };
  const auto evaluation = std::make_shared<const LayerwiseEvaluation>(
      graph.adj, task.x.input().value(), std::move(layerwise), LayerwiseEvaluation::kChunk, task.ranks);
  model.predict = [forward, evaluation](const StepInput& in) {
    return in.batch ? forward(*in.batch) : evaluation->logits();
  };
}

std::string describe_batches(const TrainOptions& options) {
  if (options.batch_by_parts) return fmt::format(", random parts of {} nodes", options.batch);
  return fmt::format(", batches of {}, fan-out {}{}{}", options.batch, join(fanout_of(options)),
                     options.replace ? " with replacement" : "",
                     options.eval_sampled ? ", sampled evaluation" : "");
}

}  // namespace rodeo
