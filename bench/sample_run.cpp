#include "bench/sample_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "ops/all_rows.h"
#include "train/classification.h"
#include "train/mini_batches.h"
#include "train/sampled_steps.h"
#include "train/task/hetero_task.h"
#include "train/task/model_registry.h"

namespace rodeo::bench {
namespace {

/// Training alone is timed: the evaluation after the last epoch computes nothing.
class WithoutMetrics : public Classification {
 public:
  using Classification::Classification;
  Tensor metrics(const Tensor& predictions) const override {
    return Tensor::zeros({3, 2}, DType::kF64, predictions.device());
  }
};

std::shared_ptr<StepSource> steps(const SampleSettings& s, const SampleData& data) {
  const NeighborSampler sampler(data.graph, {s.fanout});
  const BatchFraction own = cut_batch(s.batch, s.ranks.rank(), s.ranks.size());
  SampledStepsOptions options{.x = {data.x}, .padded_targets = own.end - own.begin, .sampler = &sampler};
  if (data.peers)
    options.read_features = [peers = data.peers](const Tensor& index) {
      return [peers, index] { return peers->read(index); };
    };
  return std::make_shared<SampledSteps>(
      std::make_unique<NodeBatchSampler>(
          MiniBatches(data.train, all_rows(data.graph).nodes, s.batch, 0, s.device), s.batch, sampler,
          s.ranks),
      s.device, options);
}

}  // namespace

SampleRun::SampleRun(const SampleSettings& s, const SampleData& data) : device_(s.device) {
  if (data.hetero.types.empty())
    train_sage(s, data);
  else
    train_on_relations(s, data.hetero);
}

void SampleRun::train_sage(const SampleSettings& s, const SampleData& data) {
  auto sage = std::make_unique<Sage>(SageOptions{.in = s.features,
                                                 .hidden = s.hidden,
                                                 .classes = s.classes,
                                                 .layers = static_cast<int>(s.fanout.size()),
                                                 .input_dropout = 0},
                                     Random(0), s.device);
  const Tensor train = data.train.to(s.device);
  parts_ = {.forward =
                [this, sage = sage.get(), x = data.x, cache = data.cache](const StepInput& in) {
                  if (!in.batch) return Variable(Tensor::zeros({1, 1}, DType::kF32, device_));
                  std::vector<Adjacency> blocks;
                  for (const Block& block : in.batch->blocks) blocks.push_back(block.adj);
                  if (in.batch->features.defined())
                    return sage->forward(blocks, Features(in.batch->features));
                  return sage->forward(blocks, Features(PendingRows{x, in.batch->inputs(), cache}));
                },
            .criterion = std::make_shared<WithoutMetrics>(data.label, Split{train, train, train}, s.classes),
            .source = steps(s, data)};
  if (s.ranks.size() > 1) parts_.exchange = Exchange(s.ranks);
  groups_ = {{sage->parameters(), {.lr = 0.003}}};
  model_ = std::move(sage);
}

void SampleRun::train_on_relations(const SampleSettings& s, const HeteroDataset& data) {
  TrainOptions options = published_options(s.model);
  options.undirected = true;
  options.layers = static_cast<int>(s.fanout.size());
  options.heads = traits_of(options).heads ? s.heads : 1;
  options.hidden = s.hidden / options.heads;
  options.batch = s.batch;
  options.fanout = fmt::to_string(fmt::join(s.fanout, ","));
  options.precision = s.dtype == DType::kBF16 ? Precision::kBf16 : Precision::kFp32;
  const auto width = [&](const Dataset& type) { return type.num_features; };
  const bool one_width = std::ranges::adjacent_find(data.types, std::ranges::not_equal_to(), width) ==
                         data.types.end();  // the form of MLPerf
  if (one_width) options.trunk.pre_linear = 0;
  NodeRun run = make_hetero_run(data, options, s.device, s.ranks);
  const Split& split = run.task.split;
  parts_ = {.forward =
                [this, predict = run.model.predict](const StepInput& in) {
                  return in.batch ? predict(in) : Variable(Tensor::zeros({1, 1}, DType::kF32, device_));
                },
            .criterion = std::make_shared<WithoutMetrics>(
                run.task.label, Split{split.train, split.train, split.train}, run.task.num_classes),
            .source = make_steps(*run.model.mini_batches)};
  if (s.ranks.size() > 1) parts_.exchange = Exchange(s.ranks);
  groups_ = run.model.groups;
  model_ = std::move(run.model.module);
}

std::vector<EpochReport> SampleRun::train(int epochs) {
  std::vector<EpochReport> reports;
  Trainer trainer(*model_, parts_, groups_,
                  {.epochs = epochs, .eval_every = epochs, .warmup_epochs = 1, .profile_every = 2 * epochs});
  trainer.fit([&](const EpochReport& report) { reports.push_back(report); });
  return reports;
}

double SampleRun::loss(bool captured) {
  double loss = 0;
  Trainer trainer(*model_, parts_, groups_, {.epochs = 1, .profile_every = 0, .cuda_graph = captured});
  trainer.fit([&](const EpochReport& report) { loss = report.loss; });
  return loss;
}

SampleData first_batches(const SampleSettings& s, SampleData data, std::int64_t count) {
  const bool one_type = data.hetero.types.empty();
  Tensor& train =
      one_type ? data.train : data.hetero.types[static_cast<std::size_t>(data.hetero.target)].split.train;
  train = train.slice(0, std::min(train.numel(), count * s.batch));
  return data;
}

void verify_batches(const SampleSettings& s, const SampleData& data) {
  constexpr int kBatches = 6;
  const SampleData some = first_batches(s, data, kBatches);
  const double captured = SampleRun(s, some).loss(true), op_by_op = SampleRun(s, some).loss(false);
  check(captured == op_by_op, "the loss of ", kBatches, " batches is ", captured, " with a CUDA graph, and ",
        op_by_op, " in a second run without");
}

}  // namespace rodeo::bench
