#include "train/task/graph_steps.h"

#include <algorithm>
#include <utility>

#include "datasets/split.h"
#include "ops/row_ranges.h"
#include "train/batch_sampler.h"

namespace rodeo {
namespace {

constexpr std::uint64_t kBatchStream = 0x6261746368;

}  // namespace

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

}  // namespace rodeo
