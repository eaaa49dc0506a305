#include "train/task/graph_objective.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/node_partition.h"
#include "core/random.h"
#include "core/random_streams.h"
#include "ops/combine.h"
#include "ops/dense.h"
#include "ops/gather_rows.h"
#include "ops/loss.h"
#include "ops/row_ranges.h"
#include "train/objective.h"

namespace rodeo {
namespace {

constexpr std::uint64_t kBatchStream = 0x6261746368;

}  // namespace

std::vector<std::int64_t> shuffled(const std::vector<std::int64_t>& ids, std::uint64_t seed,
                                   std::uint64_t stream) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> keyed;
  for (const std::int64_t id : ids) {
    const Philox4 random = philox(seed, stream, static_cast<std::uint64_t>(id));
    keyed.emplace_back(std::uint64_t{random.word[0]} << 32 | random.word[1], id);
  }
  std::sort(keyed.begin(), keyed.end());
  std::vector<std::int64_t> out;
  for (const auto& [key, id] : keyed) out.push_back(id);
  return out;
}

std::vector<std::int64_t> cut_graphs(const std::vector<std::int64_t>& graphs, const GraphSet& set,
                                     int ranks) {
  constexpr std::int64_t kAlign = 4;
  const std::int64_t count = std::ssize(graphs);
  std::vector<std::int64_t> size{0};  // nodes and edges of the graphs before
  for (const std::int64_t g : graphs) size.push_back(size.back() + set.num_nodes(g) + set.num_edges(g));
  std::vector<std::int64_t> begins = cut_rows(size, ranks).begins;
  for (std::int64_t& begin : begins) begin = std::min(count, (begin + kAlign / 2) / kAlign * kAlign);
  begins.back() = count;
  return begins;
}

int GraphObjective::begin_epoch(int epoch) {
  const Ids order = shuffled(training, seed, kBatchStream + (static_cast<std::uint64_t>(epoch) << 32));
  batches_.clear();
  next_ = 0;
  for (std::size_t begin = 0; begin < order.size(); begin += batch_graphs) {
    const std::size_t end = std::min(begin + batch_graphs, order.size());
    // A single graph may have a single node, which batch normalisation cannot train on.
    if (end - begin == 1 && !batches_.empty())
      batches_.back().push_back(order[begin]);
    else
      batches_.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(begin),
                            order.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return static_cast<int>(batches_.size());
}

GraphObjective::Input GraphObjective::input_of(const GraphBatch& batch) const {
  Input out{{batch.adj, {}, {}}, gather_rows(x, batch.nodes), {}, batch.offsets};
  if (whole.weight.defined()) out.graph.weight = take(whole.weight, batch.edge_ids);
  if (whole.scale.defined()) out.graph.scale = take(whole.scale, batch.nodes);
  if (f.defined()) out.f = gather_rows(f, batch.edge_ids);
  return out;
}

Variable GraphObjective::logits_of(const Input& input) const {
  return model->forward(input.graph, Variable(input.x), input.offsets,
                        input.f.defined() ? Variable(input.f) : Variable());
}

Variable GraphObjective::loss() {
  const Ids& all = batches_.at(next_++);
  if (ranks.size() == 1) return mean_loss(logits_of(input_of(set.batch(all))), all);
  const std::vector<std::int64_t> begins = cut_graphs(all, set, ranks.size());
  std::vector<std::int64_t> nodes(static_cast<std::size_t>(ranks.size()));
  for (std::size_t r = 0; r < nodes.size(); ++r)
    for (std::int64_t i = begins[r]; i < begins[r + 1]; ++i)
      nodes[r] += set.num_nodes(all[static_cast<std::size_t>(i)]);
  const std::int64_t begin = begins[static_cast<std::size_t>(ranks.rank())],
                     end = begins[static_cast<std::size_t>(ranks.rank()) + 1];
  const Ids own(all.begin() + begin, all.begin() + end);
  const NodePartition rows(ranks, nodes, /*alignment=*/1);
  const ScopedPartition over(&rows);
  const ScopedFirstRow first(begin);  // of the only dropout, whose rows are graphs
  const Variable logits = logits_of(input_of(set.batch(own)));
  if (own.empty()) return no_loss(logits);
  const Variable mean = mean_loss(logits, own);
  const double share = static_cast<double>(count_terms(all, begin, end)) /
                       static_cast<double>(count_terms(all, 0, std::ssize(all)));
  return linear_combination(share, mean, 0, mean);
}

std::int64_t GraphObjective::count_terms(const Ids& graphs, std::int64_t begin, std::int64_t end) const {
  if (!errors) return end - begin;
  const std::int64_t columns = std::ssize(targets) / set.size();
  std::int64_t known = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const auto first = targets.begin() + graphs[static_cast<std::size_t>(i)] * columns;
    known += std::count_if(first, first + columns, [](float y) { return !std::isnan(y); });
  }
  return known;
}

Variable GraphObjective::mean_loss(const Variable& logits, const Ids& graphs) const {
  if (errors) return target_loss(logits, graphs);
  Ids labels;
  for (const std::int64_t g : graphs) labels.push_back(host_label[static_cast<std::size_t>(g)]);
  return cross_entropy(logits, Tensor::from(labels, x.device()), every.slice(0, std::ssize(graphs)));
}

/// Over the known targets. Each training graph has one.
Variable GraphObjective::target_loss(const Variable& predicted, const Ids& graphs) const {
  const std::int64_t columns = predicted.shape()[1];
  std::vector<float> y;
  Ids known;
  for (const std::int64_t g : graphs)
    for (std::int64_t j = 0; j < columns; ++j) {
      y.push_back(targets[static_cast<std::size_t>(g * columns + j)]);
      if (!std::isnan(y.back())) known.push_back(std::ssize(y) - 1);
    }
  const Variable flat = cast(reshape(predicted, Shape{std::ssize(y)}), DType::kF32);
  return target_error(kind, flat, Tensor::from(y, x.device()), Tensor::from(known, x.device()));
}

Variable GraphObjective::predict() {
  if (ranks.size() == 1) return logits_of({whole, x, f, set.graph_ptr()});
  if (evaluated_.empty()) {
    Ids graphs(static_cast<std::size_t>(set.size()));
    std::iota(graphs.begin(), graphs.end(), 0);
    const std::vector<std::int64_t> begins = cut_graphs(graphs, set, ranks.size());
    for (std::size_t r = 0; r + 1 < begins.size(); ++r) evaluated_.push_back(begins[r + 1] - begins[r]);
    const auto begin = graphs.begin() + begins[static_cast<std::size_t>(ranks.rank())];
    own_ = input_of(set.batch({begin, begin + evaluated_[static_cast<std::size_t>(ranks.rank())]}));
  }
  return Variable(ranks.all_gather(logits_of(own_).value(), evaluated_));
}

Tensor GraphObjective::evaluate() {
  const Variable logits = predict();
  if (errors) return errors->evaluate(logits);
  return classification_metrics(logits.value(), label, {split.train, split.val, split.test});
}

}  // namespace rodeo
