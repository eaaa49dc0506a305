#include "train/task/relation_split.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/text.h"
#include "train/task/run_graph.h"

namespace rodeo {
namespace {

using Ids = std::vector<std::int64_t>;

bool are_reverse(const HeteroRelation& a, const HeteroRelation& b) {
  return a.source == b.target && a.target == b.source &&
         (a.name == "rev_" + b.name || b.name == "rev_" + a.name);
}

/// i64 on the host, with `shift` added.
Ids shifted(const Tensor& ids, std::int64_t shift) {
  Ids out = ids.defined() ? ids.to(kCpu).to(DType::kI64).to_vector<std::int64_t>() : Ids();
  for (std::int64_t& id : out) id += shift;
  return out;
}

/// The held-out pairs of a split as (destination, source), in both directions where it is undirected,
/// ascending.
std::vector<std::pair<std::int64_t, std::int64_t>> held_out(const EdgeSplit& split) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (const NodePairs* part : {&split.val, &split.test}) {
    const Ids src = shifted(part->src, 0), dst = shifted(part->dst, 0);
    for (std::size_t i = 0; i < src.size(); ++i) {
      out.emplace_back(dst[i], src[i]);
      if (split.undirected) out.emplace_back(src[i], dst[i]);
    }
  }
  std::ranges::sort(out);
  return out;
}

/// The relations of the graph that have the edges of relation r, or their reverses, which --undirected adds
/// behind all relations.
std::vector<PairMessages> messages_of(const HeteroDataset& dataset, std::size_t r, bool adds_reverse) {
  std::vector<PairMessages> out{{static_cast<int>(r), false}};
  for (std::size_t other = 0; other < dataset.relations.size(); ++other)
    if (are_reverse(dataset.relations[r], dataset.relations[other]))
      out.push_back({static_cast<int>(other), true});
  if (adds_reverse) out.push_back({static_cast<int>(r + dataset.relations.size()), true});
  return out;
}

}  // namespace

std::vector<std::size_t> find_link_relations(const HeteroDataset& dataset, const TrainOptions& options) {
  std::vector<std::string> names;
  for (const HeteroRelation& relation : dataset.relations) names.push_back(dataset.relation_name(relation));
  std::vector<std::size_t> found;
  for (std::size_t r = 0; r < names.size(); ++r) {
    const HeteroRelation& relation = dataset.relations[r];
    const bool is_named = options.relation == relation.name || options.relation == names[r];
    const bool is_second = std::ranges::any_of(
        found, [&](std::size_t before) { return are_reverse(dataset.relations[before], relation); });
    if (options.relation.empty() ? !is_second : is_named) found.push_back(r);
  }
  check(!found.empty(), "--relation ", options.relation, ": ", dataset.name, " has no such relation, but ",
        join(names));
  check(options.relation.empty() || found.size() == 1, "--relation ", options.relation, ": ", dataset.name,
        " has several of that name: give one of ", join(names));
  check(found.size() == 1 || options.decoder == DecoderKind::kDistmult, "--decoder ", name(options.decoder),
        " scores a pair alike in all ", found.size(), " relations of ", dataset.name,
        ": give --decoder distmult, or --relation, one of ", join(names));
  return found;
}

PairRange pairs_of_relation(const HeteroDataset& dataset, const HeteroRelation& relation) {
  const auto first = [&](int type) {
    std::int64_t node = 0;
    for (int t = 0; t < type; ++t) node += dataset.types[static_cast<std::size_t>(t)].num_nodes;
    return node;
  };
  const auto count = [&](int type) { return dataset.types[static_cast<std::size_t>(type)].num_nodes; };
  return {first(relation.source), count(relation.source), first(relation.target), count(relation.target)};
}

std::vector<LinkRelation> take_relation_splits(HeteroDataset& dataset, const TrainOptions& options,
                                               Device device) {
  const std::vector<std::size_t> found = find_link_relations(dataset, options);
  std::vector<LinkRelation> out;
  std::int64_t edges[3] = {};
  for (const std::size_t r : found) {
    HeteroRelation& relation = dataset.relations[r];
    LinkRelation& link = out.emplace_back();
    link.name = dataset.relation_name(relation);
    link.among = pairs_of_relation(dataset, relation);
    link.messages = messages_of(dataset, r, options.undirected);
    Dataset rest;  // a graph of all nodes
    rest.name = link.name;
    rest.num_nodes = dataset.num_nodes();
    rest.src = Tensor::from(shifted(relation.src, link.among.first_src));
    rest.dst = Tensor::from(shifted(relation.dst, link.among.first_dst));
    link.split = take_edge_split(rest, {},
                                 {.parts = options.edge_split,
                                  .seed = options.seed + (std::uint64_t{r} << 32),
                                  .sort_on = sorts_on(rest, device),
                                  .among = link.among,
                                  .empty_parts = found.size() > 1});
    link.graph = to_graph(rest, device).adj;
    relation.src = Tensor::from(shifted(rest.src, -link.among.first_src)).to(DType::kI32);
    relation.dst = Tensor::from(shifted(rest.dst, -link.among.first_dst)).to(DType::kI32);
    const EdgeSplit& split = link.split;
    edges[0] += split.train.src.numel(), edges[1] += split.val.src.numel(),
        edges[2] += split.test.src.numel();
  }
  for (int part = 0; part < 3; ++part)
    check(edges[part] > 0, dataset.name, ": the split leaves no ", kSetNames[part], " edges of ",
          edges[0] + edges[1] + edges[2], ": give --edge-split other shares");

  for (std::size_t i = 0; i < found.size(); ++i) {
    const HeteroRelation& relation = dataset.relations[found[i]];
    const auto left_out = held_out(out[i].split);
    for (HeteroRelation& other : dataset.relations) {
      if (!are_reverse(relation, other)) continue;
      const Ids src = shifted(other.src, 0), dst = shifted(other.dst, 0);
      std::vector<std::int32_t> kept_src, kept_dst;
      for (std::size_t e = 0; e < src.size(); ++e) {
        const std::pair turned(out[i].among.first_dst + src[e], out[i].among.first_src + dst[e]);
        if (std::ranges::binary_search(left_out, turned)) continue;
        kept_src.push_back(static_cast<std::int32_t>(src[e]));
        kept_dst.push_back(static_cast<std::int32_t>(dst[e]));
      }
      other.src = Tensor::from(kept_src), other.dst = Tensor::from(kept_dst);
    }
  }
  return out;
}

}  // namespace rodeo
