#include "train/pair_batches.h"

#include <algorithm>
#include <utility>

#include "core/random.h"
#include "train/task/counted.h"

namespace rodeo {
namespace {

using Ids = std::vector<std::int64_t>;

/// Other numbers than those of weights, dropout and samples.
constexpr std::uint64_t kPairSeed = 0x7061697273;

/// Edges of a batch in both their directions where the graph has both, as (destination, source), ascending.
std::vector<std::pair<std::int64_t, std::int64_t>> edges_of(const Ids& src, const Ids& dst, const Ids& edges,
                                                            bool undirected) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (const std::int64_t e : edges) {
    out.emplace_back(dst[static_cast<std::size_t>(e)], src[static_cast<std::size_t>(e)]);
    if (undirected) out.emplace_back(out.back().second, out.back().first);
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace

Block without_edges(const Block& block, const std::vector<std::pair<std::int64_t, std::int64_t>>& left_out) {
  const Csr& csr = block.adj.csr();
  const Ids row_ptr = csr.row_ptr.to_vector<std::int64_t>(), nodes = block.sources.to_vector<std::int64_t>(),
            ids = block.edge_ids.to_vector<std::int64_t>();
  const std::vector<std::int32_t> col = csr.col.to_vector<std::int32_t>();
  Ids kept_ptr{0}, kept_ids;
  std::vector<std::int32_t> kept_col;
  for (std::size_t row = 0; row + 1 < row_ptr.size(); ++row) {
    for (auto e = static_cast<std::size_t>(row_ptr[row]); e < static_cast<std::size_t>(row_ptr[row + 1]);
         ++e) {
      const std::pair edge(nodes[row], nodes[static_cast<std::size_t>(col[e])]);
      if (std::ranges::binary_search(left_out, edge)) continue;
      kept_col.push_back(col[e]);
      kept_ids.push_back(ids[e]);
    }
    kept_ptr.push_back(std::ssize(kept_col));
  }
  if (kept_col.size() == col.size()) return block;
  const Device device = block.adj.device();
  return {Adjacency::trusted(
              {csr.rows, csr.cols, Tensor::from(kept_ptr, device), Tensor::from(kept_col, device)}),
          Tensor::from(kept_ids, device), block.sources};
}

PairBatchSampler::PairBatchSampler(const NodePairs& edges, Adjacency graph, NeighborSampler sampler,
                                   const PairBatchOptions& options, Communicator ranks)
    : NodeBatchSampler(
          {counted(edges.src.numel()), edges.src.numel(), options.batch_size, options.seed ^ kPairSeed},
          options.batch_size, std::move(sampler), std::move(ranks)),
      src_(edges.src.to_vector<std::int64_t>()),
      dst_(edges.dst.to_vector<std::int64_t>()),
      graph_(std::move(graph)),
      options_(options) {}

std::vector<BatchSampler::Step> PairBatchSampler::epoch(std::int64_t epoch, std::int64_t done) {
  pairs_.clear();
  return steps_ = NodeBatchSampler::epoch(epoch, done);
}

SampledBatch PairBatchSampler::sample(std::size_t step) {
  const Step& own = steps_[step];
  const std::int64_t number = own.done - 1;  // of the batch
  Ids src, dst;
  for (const std::int64_t e : own.examples) {
    src.push_back(src_[static_cast<std::size_t>(e)]);
    dst.push_back(dst_[static_cast<std::size_t>(e)]);
  }
  RandomKey key;
  key.seed = options_.seed ^ kPairSeed;
  key.stream = static_cast<std::uint64_t>(epoch_) << 32 | static_cast<std::uint64_t>(number);
  key.first_row = cut_batch(std::ssize(own.of_all), ranks_.rank(), ranks_.size()).begin;
  const NodePairs drawn = negative_edges(graph_, std::ssize(own.examples), key);
  const Ids drawn_src = drawn.src.to_vector<std::int64_t>(), drawn_dst = drawn.dst.to_vector<std::int64_t>();
  src.insert(src.end(), drawn_src.begin(), drawn_src.end());
  dst.insert(dst.end(), drawn_dst.begin(), drawn_dst.end());

  Ids nodes = src;
  nodes.insert(nodes.end(), dst.begin(), dst.end());
  std::ranges::sort(nodes);
  nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
  const auto rows = [&](Ids ids) {
    for (std::int64_t& id : ids) id = std::ranges::lower_bound(nodes, id) - nodes.begin();
    return Tensor::from(ids, graph_.device());
  };
  pairs_[step] = {rows(src), rows(dst)};
  SampledBatch batch =
      sampler_.sample_checked(Tensor::from(nodes, sampler_.graph().device()), epoch_, number);
  const auto left_out = edges_of(src_, dst_, own.of_all, options_.undirected);
  for (Block& block : batch.blocks) block = without_edges(block, left_out);
  return batch;
}

NodePairs PairBatchSampler::pairs(std::size_t step) {
  return std::move(pairs_.extract(step).mapped());
}

}  // namespace rodeo
