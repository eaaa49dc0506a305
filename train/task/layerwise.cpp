#include "train/task/layerwise.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "ops/all_rows.h"
#include "ops/combine.h"
#include "ops/gather_rows.h"
#include "train/read_ahead.h"
#include "train/task/counted.h"

namespace rodeo {
namespace {

std::vector<std::int64_t> chunk_begins(const Adjacency& graph, std::int64_t chunk) {
  check(chunk >= 1, "[layerwise] a chunk must have at least 1 row, got ", chunk);
  const AllRows whole = all_rows(graph);
  const std::vector<std::int64_t> row_ptr = whole.row_ptr.to_vector<std::int64_t>();
  std::vector<std::int64_t> begin{0};
  const auto size = [&](std::int64_t end) {
    return row_ptr[end] - row_ptr[begin.back()] + end - begin.back();
  };
  for (std::int64_t row = 0; row < whole.nodes; ++row)
    if (row > begin.back() && size(row + 1) > chunk) begin.push_back(row);
  begin.push_back(whole.nodes);
  return begin;
}

/// The chunks of a rank, and the end of those that it computes. All ranks compute equally many, some of them
/// for nobody: one for the columns and the dtype, and reads of features may be collective calls.
struct OwnChunks {
  std::int64_t first, end, computed_end;
};
OwnChunks own_chunks(const Communicator& ranks, std::int64_t chunks) {
  if (chunks == 1) return {0, 1, 1};
  const std::int64_t first = ranks.rank() * chunks / ranks.size(),
                     end = (ranks.rank() + 1) * chunks / ranks.size();
  return {first, end, first + (chunks + ranks.size() - 1) / ranks.size()};
}

/// The rows begin[0] .. begin.back() - 1 from compute(i, begin[i], begin[i + 1]) [rows of chunk i, columns],
/// on every rank. Each computes some of the chunks.
template <class F>
Tensor over_chunks(const Communicator& ranks, const std::vector<std::int64_t>& begin, F&& compute) {
  const std::int64_t chunks = std::ssize(begin) - 1;
  if (chunks == 1) return compute(0, begin.front(), begin.back());
  const auto [first, end, computed_end] = own_chunks(ranks, chunks);
  Tensor all;
  for (std::int64_t i = first; i < computed_end; ++i) {
    const Tensor part = compute(i, begin[i], begin[i + 1]);
    if (!all.defined())
      all = Tensor::empty({begin[end] - begin[first], part.dim(1)}, part.dtype(), part.device());
    if (i < end) all.slice(begin[i] - begin[first], begin[i + 1] - begin[first]).copy_from(part);
  }
  if (ranks.size() == 1) return all;
  std::vector<std::int64_t> rows;
  for (std::int64_t r = 0; r < ranks.size(); ++r)
    rows.push_back(begin[(r + 1) * chunks / ranks.size()] - begin[r * chunks / ranks.size()]);
  return ranks.all_gather(all, rows);
}

}  // namespace

LayerwiseEvaluation::LayerwiseEvaluation(const Adjacency& graph, Tensor x, LayerwiseModel model,
                                         std::int64_t chunk, Communicator ranks)
    : x_(std::move(x)),
      nodes_(counted(all_rows(graph).nodes, graph.device())),
      model_(std::move(model)),
      sampler_(graph, {.fanout = {kAllNeighbors}}),
      begin_(chunk_begins(graph, chunk)),
      ranks_(std::move(ranks)) {
  check(!model_.layers.empty(), "[layerwise] the model has no layers");
}

Variable LayerwiseEvaluation::logits() const {
  const NoGrad no_grad;
  Tensor h = x_;
  if (model_.inputs)
    h = over_chunks(ranks_, begin_, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      const Tensor rows =
          model_.read_inputs ? model_.read_inputs(nodes_.slice(begin, end))() : x_.slice(begin, end);
      return model_.inputs(Features(rows)).value();
    });
  const Tensor initial = model_.reads_initial ? h : Tensor();
  bool reads = model_.read_inputs && !model_.inputs, gathers = model_.gathers_inputs && !model_.inputs;
  const auto sample = [&](std::size_t chunk) {
    return sampler_.sample_checked(nodes_.slice(begin_[chunk], begin_[chunk + 1]), 0,
                                   static_cast<std::int64_t>(chunk));
  };
  const std::int64_t end = own_chunks(ranks_, std::ssize(begin_) - 1).computed_end;
  std::vector<Tensor> kept;
  for (const auto& layer : model_.layers) {
    ReadAhead chunks(static_cast<std::size_t>(end), sample, reads ? model_.read_inputs : ReadFeatures());
    h = over_chunks(ranks_, begin_, [&](std::int64_t chunk, std::int64_t, std::int64_t) {
      const SampledBatch batch = chunks(static_cast<std::size_t>(chunk));
      const Features rows = reads     ? Features(batch.features)
                            : gathers ? Features(gather_rows(h, batch.inputs()))
                                      : Features(PendingRows{h, batch.inputs()});
      return layer(batch.blocks.front(), rows,
                   initial.defined() ? Variable(gather_rows(initial, batch.inputs())) : Variable())
          .value();
    });
    reads = false;
    gathers = false;
    if (!model_.reads_all_layers) kept.clear();
    kept.push_back(h);
  }
  if (!model_.outputs) return Variable(h);
  return Variable(over_chunks(ranks_, begin_, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    std::vector<Variable> rows;
    for (const Tensor& output : kept) rows.emplace_back(output.slice(begin, end));
    return model_.outputs(rows).value();
  }));
}

Variable sampled_logits(const MiniBatchTraining& training,
                        const std::function<Variable(const SampledBatch&)>& forward,
                        const std::vector<Tensor>& nodes, std::int64_t num_nodes) {
  const NoGrad no_grad;
  const Device device = training.sampler.graph().device();
  std::vector<std::int64_t> all;
  for (const Tensor& part : nodes) {
    const std::vector<std::int64_t> some = part.to_vector<std::int64_t>();
    all.insert(all.end(), some.begin(), some.end());
  }
  all = sorted_unique(std::move(all));
  const std::int64_t count = std::ssize(all);
  check(count > 0, "[sampled_logits] there are no nodes");

  constexpr std::int64_t kEpoch = 0;  // training begins with epoch 1
  const Tensor targets = Tensor::from(all, device);
  std::vector<std::int64_t> begins;
  for (std::int64_t begin = 0; begin < count; begin += training.batch_size) begins.push_back(begin);
  begins.push_back(count);
  ReadAhead batches(
      static_cast<std::size_t>(own_chunks(training.ranks, std::ssize(begins) - 1).computed_end),
      [&](std::size_t at) {
        return training.sampler.sample_checked(targets.slice(begins[at], begins[at + 1]), kEpoch,
                                               static_cast<std::int64_t>(at));
      },
      training.read_features);
  const Tensor some =
      over_chunks(training.ranks, begins, [&](std::int64_t batch, std::int64_t begin, std::int64_t end) {
        return forward(batches(static_cast<std::size_t>(batch))).value().slice(0, end - begin);
      });
  const Tensor logits = Tensor::zeros({count + 1, some.dim(1)}, some.dtype(), device);  // the last row is 0
  logits.slice(0, count).copy_from(some);
  std::vector<std::int64_t> place(static_cast<std::size_t>(num_nodes), count);
  for (std::int64_t i = 0; i < count; ++i) place[all[i]] = i;
  return Variable(gather_rows(logits, Tensor::from(place, device)));
}

}  // namespace rodeo
