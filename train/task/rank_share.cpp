#include "train/task/rank_share.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "datasets/subset.h"
#include "ops/row_ranges.h"
#include "train/task/counted.h"

namespace rodeo {

std::shared_ptr<const NodePartition> partition_nodes(std::span<const std::int64_t> row_pointers,
                                                     std::int64_t dense_features, const Communicator& ranks) {
  // In edges. Reddit-like GCN 2 x 128 on an H200: 12.10 ms for the sums over 114.6 M edges, 2.15 ms for
  // everything else of 232,965 rows with 602 features. So a row costs 87 edges, most of it the product of
  // its features with the first weights, forward and backward.
  constexpr double kRow = 16, kFeature = 0.12;
  const RowCost cost{.row = kRow + kFeature * static_cast<double>(dense_features), .edge = 1};
  constexpr std::int64_t kAlign = 4;  // NodePartition
  RowRanges ranges = cut_rows(row_pointers, ranks.size(), cost);
  const std::int64_t nodes = std::ssize(row_pointers) - 1;
  for (std::int64_t& begin : ranges.begins) begin = std::min(nodes, (begin + kAlign / 2) / kAlign * kAlign);
  ranges.begins.back() = nodes;
  return std::make_shared<const NodePartition>(ranks, ranges.row_counts());
}

Dataset rank_share(Dataset dataset, const NodePartition& nodes) {
  dataset.src = dataset.dst = Tensor::zeros({0}, DType::kI32);
  dataset.indptr = dataset.indices = dataset.edge_weight = {};
  dataset.node_names.clear();
  return select_nodes(dataset, counted(nodes.num_rows(), kCpu, nodes.first_row()));
}

void check_rank_options(const TrainOptions& options) {
  const auto refuse = [](bool given, const char* option) {
    check(!given, option, " works on one rank, not over several yet: leave it out");
  };
  refuse(options.edge_features && options.task != TaskKind::kGraph, "--edge-features");
  refuse(options.prune_rows, "--prune-rows");
  refuse(options.features_on == FeaturesOn::kDisk, "--features-on disk");
  refuse(options.graph_on == GraphOn::kHost, "--graph-on host");
}

}  // namespace rodeo
