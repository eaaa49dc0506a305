#include "train/task/graph_steps.h"

#include <algorithm>
#include <utility>

#include "core/node_partition.h"
#include "core/random.h"
#include "core/random_streams.h"
#include "ops/convert.h"
#include "ops/gather_rows.h"
#include "ops/row_ranges.h"
#include "train/batch_sampler.h"
#include "train/task/counted.h"

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
  std::vector<std::int64_t> size{0};  // nodes and edges of the graphs before
  for (const std::int64_t g : graphs) size.push_back(size.back() + set.num_nodes(g) + set.num_edges(g));
  return cut_rows(size, ranks, {}, kAlign).begins;
}

GraphSteps::GraphSteps(GraphSet set, std::vector<std::int64_t> training, const GraphStepsOptions& options,
                       Communicator ranks)
    : set_(std::move(set)), training_(std::move(training)), options_(options), ranks_(std::move(ranks)) {}

void GraphSteps::begin_epoch(const EpochStart& start) {
  const std::vector<std::int64_t> order =
      shuffled(training_, options_.seed, kBatchStream + (static_cast<std::uint64_t>(start.epoch) << 32));
  batches_.clear();
  for (std::size_t begin = 0; begin < order.size(); begin += options_.batch_graphs) {
    const std::size_t end = std::min(begin + options_.batch_graphs, order.size());
    if (end - begin == 1 && !batches_.empty())
      batches_.back().push_back(order[begin]);
    else
      batches_.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(begin),
                            order.begin() + static_cast<std::ptrdiff_t>(end));
  }
  check_goes_on(start.epoch, num_batches(), start.done);
  next_ = static_cast<std::size_t>(start.done);
}

const StepInput* GraphSteps::next() {
  if (next_ == batches_.size()) return nullptr;
  const std::vector<std::int64_t>& all = batches_[next_++];
  std::vector<std::int64_t> begins{0, std::ssize(all)};
  const auto rank = static_cast<std::size_t>(ranks_.rank());
  if (ranks_.size() > 1) {
    begins = cut_graphs(all, set_, ranks_.size());
    std::vector<std::int64_t> nodes(static_cast<std::size_t>(ranks_.size()));
    for (std::size_t r = 0; r < nodes.size(); ++r)
      for (std::int64_t i = begins[r]; i < begins[r + 1]; ++i)
        nodes[r] += set_.num_nodes(all[static_cast<std::size_t>(i)]);
    partition_.emplace(ranks_, nodes, /*alignment=*/1);
  }
  const auto begin = all.begin() + begins[rank], end = all.begin() + begins[rank + 1];
  input_.examples.host.assign(begin, end);
  input_.examples.ids = Tensor::from(input_.examples.host, set_.adj().device());
  input_.of_all = all;
  step_ = {set_.batch(input_.examples.host), partition_ ? &*partition_ : nullptr, begins[rank]};
  input_.graphs = &step_;
  return &input_;
}

Variable GraphInputs::logits(const GraphBatch& batch) const {
  GcnGraph graph{batch.adj, {}, {}};
  if (whole.weight.defined()) graph.weight = take(whole.weight, batch.edge_ids);
  if (whole.scale.defined()) graph.scale = take(whole.scale, batch.nodes);
  const ConvGraph read(graph, f.defined() ? Variable(gather_rows(f, batch.edge_ids)) : Variable());
  return model->forward(read, Features(gather_rows(x, batch.nodes)), batch.offsets);
}

Variable GraphInputs::forward(const GraphStep& step) const {
  if (!step.partition) return logits(step.graphs);
  const ScopedPartition over(step.partition);
  const ScopedFirstRow first(step.first_graph);  // of the only dropout, whose rows are graphs
  return logits(step.graphs);
}

Variable GraphInputs::predict() {
  if (ranks.size() == 1)
    return model->forward(ConvGraph(whole, f.defined() ? Variable(f) : Variable()), Features(x),
                          set.graph_ptr());
  if (!own_) {
    const std::vector<std::int64_t> graphs = counted(set.size()).to_vector<std::int64_t>();
    const std::vector<std::int64_t> begins = cut_graphs(graphs, set, ranks.size());
    for (std::size_t r = 0; r + 1 < begins.size(); ++r) counts_.push_back(begins[r + 1] - begins[r]);
    const auto begin = graphs.begin() + begins[static_cast<std::size_t>(ranks.rank())];
    own_ = set.batch({begin, begin + counts_[static_cast<std::size_t>(ranks.rank())]});
  }
  return Variable(ranks.all_gather(logits(*own_).value(), counts_));
}

}  // namespace rodeo
