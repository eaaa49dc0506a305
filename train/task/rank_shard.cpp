#include "train/task/rank_shard.h"

#include <bit>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "datasets/subset.h"
#include "ops/graph_hash.h"
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
  return std::make_shared<const NodePartition>(
      ranks, cut_rows(row_pointers, ranks.size(), cost, kAlign).row_counts());
}

TypePartitions partition_types(const HeteroGraph& graph, const HeteroDataset& dataset,
                               const Communicator& ranks) {
  std::vector<Tensor> row_pointers;
  for (int t = 0; t < graph.num_types(); ++t)
    row_pointers.push_back(Tensor::zeros({graph.num_nodes(t) + 1}, DType::kI64));
  for (int r = 0; r < graph.num_relations(); ++r) {
    const Tensor ids = graph.relation(r).dst_ids.to(kCpu).to(DType::kI64);
    auto* const edges = row_pointers[static_cast<std::size_t>(graph.dst_type(r))].data<std::int64_t>() + 1;
    for (std::int64_t e = 0; e < ids.numel(); ++e) ++edges[ids.data<std::int64_t>()[e]];
  }
  TypePartitions out;
  for (std::size_t t = 0; t < row_pointers.size(); ++t) {
    const std::span sums(row_pointers[t].data<std::int64_t>(),
                         static_cast<std::size_t>(row_pointers[t].numel()));
    std::partial_sum(sums.begin(), sums.end(), sums.begin());
    out.push_back(partition_nodes(sums, dataset.types[t].num_features, ranks));
  }
  check_same_data(row_pointers, ranks);
  return out;
}

std::shared_ptr<const NodePartition> join_partitions(const TypePartitions& types) {
  const Communicator& ranks = types.front()->ranks();
  std::vector<std::int64_t> rows(static_cast<std::size_t>(ranks.size()));
  for (const auto& nodes : types)
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r] += nodes->rows()[r];
  return std::make_shared<const NodePartition>(ranks, rows);
}

Dataset rank_shard(Dataset dataset, const NodePartition& nodes) {
  dataset.src = dataset.dst = Tensor::zeros({0}, DType::kI32);
  dataset.indptr = dataset.indices = dataset.edge_weight = {};
  dataset.node_names.clear();
  return select_nodes(dataset, counted(nodes.num_rows(), kCpu, nodes.first_row()));
}

void check_same(std::uint64_t hash, const Communicator& ranks, std::string_view otherwise) {
  const Tensor own = Tensor::from(std::vector{static_cast<std::int64_t>(hash)});
  const std::vector<std::int64_t> all = ranks.all_gather(own).to_vector<std::int64_t>();
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    check(all[rank] == all[0], "rank ", rank, " has ", otherwise);
}

void check_same_data(const std::vector<Tensor>& values, const Communicator& ranks) {
  if (ranks.size() == 1) return;
  std::uint64_t hash = 0;
  for (const Tensor& given : values) {
    const Tensor part = given.dtype() == DType::kU8 ? given.to(DType::kI64) : given;
    check(part.dtype() == DType::kI64 || part.dtype() == DType::kF32,
          "[ranks] values must be i64, f32 or u8, got ", part.dtype());
    std::uint64_t sum = static_cast<std::uint64_t>(part.numel());
    const auto add = [&]<class T>(const T* value) {
      for (std::int64_t i = 0; i < part.numel(); ++i)
        sum += mix(static_cast<std::uint64_t>(i),
                   std::bit_cast<std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>>(value[i]));
    };
    part.dtype() == DType::kF32 ? add(part.data<float>()) : add(part.data<std::int64_t>());
    hash = mix(hash, sum);
  }
  check_same(hash, ranks, "another dataset than rank 0: give all ranks the same file");
}

}  // namespace rodeo
