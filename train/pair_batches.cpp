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

}  // namespace

Block without_edges(const Block& block, const std::vector<LeftOutEdge>& left_out,
                    const std::vector<std::int64_t>& first_edge) {
  const Csr& csr = block.adj.csr();
  const Ids row_ptr = csr.row_ptr.to_vector<std::int64_t>(), nodes = block.sources.to_vector<std::int64_t>(),
            ids = block.edge_ids.to_vector<std::int64_t>();
  const std::vector<std::int32_t> col = csr.col.to_vector<std::int32_t>();
  const auto relation_of = [&](std::int64_t edge) {
    return std::max<int>(
        static_cast<int>(std::ranges::upper_bound(first_edge, edge) - first_edge.begin()) - 1, 0);
  };
  Ids kept_ptr{0}, kept_ids;
  std::vector<std::int32_t> kept_col;
  for (std::size_t row = 0; row + 1 < row_ptr.size(); ++row) {
    for (auto e = static_cast<std::size_t>(row_ptr[row]); e < static_cast<std::size_t>(row_ptr[row + 1]);
         ++e) {
      const LeftOutEdge edge{relation_of(ids[e]), nodes[row], nodes[static_cast<std::size_t>(col[e])]};
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

PairBatchSampler::PairBatchSampler(const NodePairs& edges, std::vector<PairRelation> relations,
                                   NeighborSampler sampler, const PairBatchOptions& options,
                                   Communicator ranks)
    : NodeBatchSampler(
          {counted(edges.src.numel()), edges.src.numel(), options.batch_size, options.seed ^ kPairSeed},
          options.batch_size, std::move(sampler), std::move(ranks)),
      src_(edges.src.to_vector<std::int64_t>()),
      dst_(edges.dst.to_vector<std::int64_t>()),
      relations_(std::move(relations)),
      first_edge_(sampler_.first_edges()),
      options_(options) {
  if (relations_.size() > 1) relation_ = edges.relation.to_vector<std::int64_t>();
}

std::size_t PairBatchSampler::relation_of(std::int64_t edge) const {
  return relation_.empty() ? 0 : static_cast<std::size_t>(relation_[static_cast<std::size_t>(edge)]);
}

std::vector<BatchSampler::Step> PairBatchSampler::epoch(std::int64_t epoch, std::int64_t done) {
  pairs_.clear();
  return steps_ = NodeBatchSampler::epoch(epoch, done);
}

void PairBatchSampler::draw(const Step& step, std::int64_t number, Ids& src, Ids& dst) const {
  const std::int64_t begin = cut_batch(std::ssize(step.of_all), ranks_.rank(), ranks_.size()).begin;
  std::map<std::size_t, std::vector<std::size_t>> places;  // of the rank's edges of each relation
  for (std::size_t i = 0; i < step.examples.size(); ++i) places[relation_of(step.examples[i])].push_back(i);
  src.resize(step.examples.size()), dst.resize(step.examples.size());
  for (const auto& [r, at] : places) {
    RandomKey key;
    key.seed = (options_.seed ^ kPairSeed) + (static_cast<std::uint64_t>(r) << 32);
    key.stream = static_cast<std::uint64_t>(epoch_) << 32 | static_cast<std::uint64_t>(number);
    key.first_row = std::count_if(step.of_all.begin(), step.of_all.begin() + begin,
                                  [&, r = r](std::int64_t edge) { return relation_of(edge) == r; });
    const NodePairs drawn = negative_edges(relations_[r].graph, std::ssize(at), key, relations_[r].among);
    const Ids from = drawn.src.to_vector<std::int64_t>(), to = drawn.dst.to_vector<std::int64_t>();
    for (std::size_t k = 0; k < at.size(); ++k) src[at[k]] = from[k], dst[at[k]] = to[k];
  }
}

std::vector<LeftOutEdge> PairBatchSampler::left_out(const Step& step) const {
  std::vector<LeftOutEdge> out;
  for (const std::int64_t e : step.of_all) {
    const std::int64_t src = src_[static_cast<std::size_t>(e)], dst = dst_[static_cast<std::size_t>(e)];
    for (const auto& [relation, turned] : relations_[relation_of(e)].messages)
      out.push_back(turned ? LeftOutEdge{relation, src, dst} : LeftOutEdge{relation, dst, src});
  }
  std::ranges::sort(out);
  return out;
}

SampledBatch PairBatchSampler::sample(std::size_t step) {
  const Step& own = steps_[step];
  const std::int64_t number = own.done - 1;  // of the batch
  Ids src, dst, relation;
  draw(own, number, src, dst);
  const auto prepend = [&](Ids& drawn, const auto& of) {
    Ids edges;
    for (const std::int64_t e : own.examples) edges.push_back(of(e));
    drawn.insert(drawn.begin(), edges.begin(), edges.end());
  };
  prepend(src, [&](std::int64_t e) { return src_[static_cast<std::size_t>(e)]; });
  prepend(dst, [&](std::int64_t e) { return dst_[static_cast<std::size_t>(e)]; });
  for (int drawn = 0; drawn < 2 && !relation_.empty(); ++drawn)
    prepend(relation, [&](std::int64_t e) { return static_cast<std::int64_t>(relation_of(e)); });

  Ids nodes = src;
  nodes.insert(nodes.end(), dst.begin(), dst.end());
  nodes = sorted_unique(std::move(nodes));
  const Device device = sampler_.graph().device();
  const auto rows = [&](Ids ids) {
    for (std::int64_t& id : ids) id = std::ranges::lower_bound(nodes, id) - nodes.begin();
    return Tensor::from(ids, device);
  };
  pairs_[step] = {rows(src), rows(dst), relation.empty() ? Tensor() : Tensor::from(relation, device)};
  SampledBatch batch = sampler_.sample_checked(Tensor::from(nodes, device), epoch_, number);
  const std::vector<LeftOutEdge> edges = left_out(own);
  for (Block& block : batch.blocks) block = without_edges(block, edges, first_edge_);
  return batch;
}

NodePairs PairBatchSampler::pairs(std::size_t step) {
  return std::move(pairs_.extract(step).mapped());
}

}  // namespace rodeo
