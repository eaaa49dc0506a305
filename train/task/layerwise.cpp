#include "train/task/layerwise.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "ops/combine.h"
#include "ops/gather_rows.h"
#include "train/read_ahead.h"
#include "train/task/counted.h"

namespace rodeo {
namespace {

std::vector<std::int64_t> chunk_begins(const Adjacency& graph, std::int64_t chunk) {
  check(chunk >= 1, "[layerwise] a chunk must have at least 1 row, got ", chunk);
  const std::vector<std::int64_t> row_ptr = graph.csr().row_ptr.to_vector<std::int64_t>();
  std::vector<std::int64_t> begin{0};
  const auto size = [&](std::int64_t end) {
    return row_ptr[end] - row_ptr[begin.back()] + end - begin.back();
  };
  for (std::int64_t row = 0; row < graph.rows(); ++row)
    if (row > begin.back() && size(row + 1) > chunk) begin.push_back(row);
  begin.push_back(graph.rows());
  return begin;
}

}  // namespace

LayerwiseEvaluation::LayerwiseEvaluation(const Adjacency& graph, Tensor x, LayerwiseModel model,
                                         std::int64_t chunk)
    : x_(std::move(x)),
      nodes_(counted(graph.rows(), graph.device())),
      model_(std::move(model)),
      sampler_(graph, {.fanout = {kAllNeighbors}}),
      begin_(chunk_begins(graph, chunk)) {
  check(!model_.layers.empty(), "[layerwise] the model has no layers");
}

template <class F>
Tensor LayerwiseEvaluation::in_chunks(F&& compute) const {
  if (num_chunks() == 1) return compute(0, begin_.front(), begin_.back());
  Tensor all;
  for (std::int64_t i = 0; i < num_chunks(); ++i) {
    const Tensor part = compute(i, begin_[i], begin_[i + 1]);
    if (!all.defined()) all = Tensor::empty({begin_.back(), part.dim(1)}, part.dtype(), part.device());
    all.slice(begin_[i], begin_[i + 1]).copy_from(part);
  }
  return all;
}

Variable LayerwiseEvaluation::logits() const {
  const NoGrad no_grad;
  Tensor h = x_;
  if (model_.inputs)
    h = in_chunks([&](std::int64_t, std::int64_t begin, std::int64_t end) {
      const Tensor rows =
          model_.read_inputs ? model_.read_inputs(nodes_.slice(begin, end))() : x_.slice(begin, end);
      return model_.inputs(Features(rows)).value();
    });
  bool reads = model_.read_inputs && !model_.inputs, gathers = model_.gathers_inputs && !model_.inputs;
  const auto sample = [&](std::size_t chunk) {
    return sampler_.sample_checked(nodes_.slice(begin_[chunk], begin_[chunk + 1]), 0,
                                   static_cast<std::int64_t>(chunk));
  };
  std::vector<Tensor> kept;
  for (const auto& layer : model_.layers) {
    ReadAhead chunks(static_cast<std::size_t>(num_chunks()), sample,
                     reads ? model_.read_inputs : ReadFeatures());
    h = in_chunks([&](std::int64_t chunk, std::int64_t, std::int64_t) {
      const SampledBatch batch = chunks(static_cast<std::size_t>(chunk));
      const Features rows = reads     ? Features(batch.features)
                            : gathers ? Features(gather_rows(h, batch.inputs()))
                                      : Features(PendingRows{h, batch.inputs()});
      return layer(batch.blocks.front(), rows).value();
    });
    reads = false;
    gathers = false;
    if (!model_.reads_all_layers) kept.clear();
    kept.push_back(h);
  }
  if (!model_.outputs) return Variable(h);
  return Variable(in_chunks([&](std::int64_t, std::int64_t begin, std::int64_t end) {
    std::vector<Variable> rows;
    for (const Tensor& output : kept) rows.emplace_back(output.slice(begin, end));
    return model_.outputs(rows).value();
  }));
}

Variable sampled_logits(const MiniBatchTraining& training, const std::vector<Tensor>& nodes,
                        std::int64_t num_nodes) {
  const NoGrad no_grad;
  const Device device = training.sampler.graph().device();
  std::vector<std::int64_t> all;
  for (const Tensor& part : nodes) {
    const std::vector<std::int64_t> some = part.to_vector<std::int64_t>();
    all.insert(all.end(), some.begin(), some.end());
  }
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
  const std::int64_t count = std::ssize(all);
  check(count > 0, "[sampled_logits] there are no nodes");

  constexpr std::int64_t kEpoch = 0;  // training begins with epoch 1
  const Tensor targets = Tensor::from(all, device);
  Tensor logits;  // [count + 1, classes]; the last row is 0
  const std::int64_t size = training.batch_size;
  ReadAhead batches(
      static_cast<std::size_t>((count + size - 1) / size),
      [&](std::size_t at) {
        const auto batch = static_cast<std::int64_t>(at);
        return training.sampler.sample_checked(
            targets.slice(batch * size, std::min((batch + 1) * size, count)), kEpoch, batch);
      },
      training.read_features);
  for (std::int64_t begin = 0; begin < count; begin += size) {
    const std::int64_t end = std::min(begin + size, count);
    const Tensor part = training.forward(batches(static_cast<std::size_t>(begin / size))).value();
    if (!logits.defined()) logits = Tensor::zeros({count + 1, part.dim(1)}, part.dtype(), device);
    logits.slice(begin, end).copy_from(part.slice(0, end - begin));
  }
  std::vector<std::int64_t> place(static_cast<std::size_t>(num_nodes), count);
  for (std::int64_t i = 0; i < count; ++i) place[all[i]] = i;
  return Variable(gather_rows(logits, Tensor::from(place, device)));
}

}  // namespace rodeo
