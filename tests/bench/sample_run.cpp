#include "tests/bench/sample_run.h"

#include <algorithm>

#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/loss.h"
#include "ops/pointwise.h"
#include "train/task/counted.h"

namespace rodeo::bench {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

std::int64_t full_targets(const SampleSettings& s) {
  const BatchShare own = cut_batch(s.batch, s.ranks.rank(), s.ranks.size());
  return own.end - own.begin;
}

}  // namespace

SampleRun::SampleRun(const SampleSettings& s, const SampleData& data)
    : s_(s),
      sampler_(data.graph, {s.fanout}),
      x_(data.x),
      cache_(data.cache),
      label_(data.label),
      rows_(counted(s.batch, s.device)),
      batches_(data.train, data.graph.rows(), s.batch, 0, s.device),
      model_({.in = s.features,
              .hidden = s.hidden,
              .classes = s.classes,
              .layers = static_cast<int>(s.fanout.size()),
              .input_dropout = 0},
             Random(0), s.device),
      adam_({{model_.parameters(), {.lr = 0.003}}}),
      sums_(s.ranks, model_.parameters(), s.device),
      at_{{}, 1, true},
      runner_(
          sampler_, [this](const SampledBatch& batch) { return step(batch, features(batch)); },
          model_.parameters(), full_targets(s)) {
  model_.train();
}

std::vector<SampleRun::Own> SampleRun::own_batches(int epoch) const {
  std::vector<Own> out;
  for (const Tensor& batch : batches_.epoch(epoch)) {
    const BatchShare own = cut_batch(batch.numel(), s_.ranks.rank(), s_.ranks.size());
    out.push_back({batch.slice(own.begin, own.end), own.share, batch.numel() == s_.batch});
  }
  return out;
}

BatchTotals SampleRun::train(const std::vector<Own>& own, int epoch, bool captured,
                             const BatchRunner::OnLoss& on_loss) {
  std::size_t next = 0;
  at_ = own.front();
  return runner_.run({.count = own.size(),
                      .sample =
                          [&](std::size_t i) {
                            return sampler_.sample_checked(own[i].targets, epoch,
                                                           static_cast<std::int64_t>(i));
                          },
                      .is_full = [&](std::size_t i) { return own[i].is_full; }},
                     [&](const Tensor& loss, std::int64_t targets) {
                       if (++next < own.size()) at_ = own[next];
                       return on_loss(loss, targets);
                     },
                     {.captures = captured});
}

std::vector<double> SampleRun::losses(int epoch, std::size_t count, bool captured) {
  std::vector<double> out;
  std::vector<Own> own = own_batches(epoch);
  own.resize(std::min(count, own.size()));
  train(own, epoch, captured, [&](const Tensor& loss, std::int64_t) {
    out.push_back(loss.to(DType::kF64).item());
    return true;
  });
  return out;
}

std::pair<double, double> SampleRun::epoch(int number) {
  const std::vector<Own> own = own_batches(number);
  synchronize(s_.device);
  s_.ranks.barrier();
  const auto begin = Clock::now();
  const BatchTotals totals = train(own, number, true, [](const Tensor&, std::int64_t) { return true; });
  synchronize(s_.device);
  return {milliseconds_since(begin), totals.wait_ms};
}

SampleParts SampleRun::parts(int epoch) {
  SampleParts sum;
  edges = nodes = 0;
  const auto timed = [&](double SampleParts::*part, auto&& work) {
    synchronize(s_.device);
    const auto begin = Clock::now();
    work();
    synchronize(s_.device);
    sum.*part += milliseconds_since(begin);
  };
  std::int64_t number = 0;
  for (const Own& own : own_batches(epoch)) {
    SampledBatch batch;
    Features x;
    at_ = own;
    timed(&SampleParts::sample, [&] { batch = sampler_.sample_checked(own.targets, epoch, number++); });
    timed(&SampleParts::gather, [&] { x = Features(features(batch).dense()); });
    timed(&SampleParts::train, [&] { step(batch, x); });
    for (const Block& block : batch.blocks) edges += block.adj.num_edges();
    nodes += batch.inputs().numel();
  }
  return sum;
}

Features SampleRun::features(const SampledBatch& batch) const {
  return Features(PendingRows{x_, batch.inputs(), cache_});
}

Tensor SampleRun::step(const SampledBatch& batch, const Features& x) {
  const RandomStep random_step(adam_.step_counter());
  std::vector<Adjacency> blocks;
  for (const Block& block : batch.blocks) blocks.push_back(block.adj);
  const Variable loss = nll_loss(log_softmax(model_.forward(blocks, x)), take(label_, batch.targets),
                                 rows_.slice(0, batch.targets.numel()));
  if (s_.ranks.size() == 1) {
    loss.backward();
  } else {
    Tensor share = at_.is_full ? full_share_ : Tensor();
    if (!share.defined()) share = Tensor::full({}, at_.share, loss.dtype(), s_.device);
    if (at_.is_full) full_share_ = share;
    loss.backward(share);
    sums_.sum_gradients();
  }
  adam_.step();
  adam_.zero_grad();
  return loss.value();
}

void verify_batches(const SampleSettings& s, const SampleData& data) {
  constexpr std::size_t kBatches = 6;
  SampleRun first(s, data), second(s, data);
  const std::vector<double> captured = first.losses(0, kBatches, true),
                            op_by_op = second.losses(0, kBatches, false);
  for (std::size_t i = 0; i < captured.size(); ++i)
    check(captured[i] == op_by_op[i], "the loss of batch ", i, " is ", captured[i],
          " with a CUDA graph, and ", op_by_op[i], " without");
}

}  // namespace rodeo::bench
