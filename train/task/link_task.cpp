#include "train/task/link_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/text.h"
#include "datasets/reorder.h"
#include "ops/all_gather.h"
#include "ops/combine.h"
#include "ops/peer_rows.h"
#include "train/pair_batches.h"
#include "train/pair_ranking.h"
#include "train/task/counted.h"

namespace rodeo {
namespace {

/// Random numbers of the link task. Their streams are apart from those of weights and dropout.
constexpr std::uint64_t kLinkSeed = 0x6c696e6b;

class LinkModel : public Module {
 public:
  LinkModel(std::unique_ptr<Module> encoder, std::unique_ptr<LinkDecoder> decoder)
      : encoder_(std::move(encoder)), decoder_(std::move(decoder)) {
    register_module("encoder", encoder_.get());
    register_module("decoder", decoder_.get());
  }
  const LinkDecoder& decoder() const { return *decoder_; }

 private:
  std::unique_ptr<Module> encoder_;
  std::unique_ptr<LinkDecoder> decoder_;
};

/// The rank's fraction of the pairs of a set: edges, then pairs without one.
struct ScoredPairs {
  NodePairs pairs;
  std::shared_ptr<const NodePartition> positives, negatives;  // how ranks have them

  PairCounts own() const { return {positives->num_rows(), negatives->num_rows()}; }
  PairCounts of_all() const { return {positives->num_nodes(), negatives->num_nodes()}; }
  /// The rank's negatives from `begin` to `end` of those of all ranks.
  NodePairs drawn(std::int64_t begin, std::int64_t end) const {
    const std::int64_t shift = positives->num_rows() - negatives->first_row();
    return {pairs.src.slice(begin + shift, end + shift), pairs.dst.slice(begin + shift, end + shift)};
  }
};

ScoredPairs scored_pairs(const NodePairs& positive, const NodePairs& negative, Device device,
                         const Communicator& ranks) {
  ScoredPairs out;
  const auto cut = [&](const NodePairs& pairs, std::shared_ptr<const NodePartition>& parts) {
    parts = equal_parts(pairs.src.numel(), ranks);
    const std::int64_t begin = parts->first_row(), end = begin + parts->num_rows();
    return NodePairs{pairs.src.slice(begin, end), pairs.dst.slice(begin, end),
                     pairs.relation.slice(begin, end)};
  };
  const NodePairs edges = cut(positive, out.positives), draws = cut(negative, out.negatives);
  out.pairs = {concat_rows(std::vector{edges.src, draws.src}).to(device),
               concat_rows(std::vector{edges.dst, draws.dst}).to(device),
               concat_rows(std::vector{edges.relation, draws.relation}).to(device)};
  return out;
}

/// A set of all relations, one behind the other.   part: of a relation
template <class Part>
NodePairs join(const std::vector<LinkRelation>& relations, const Part& part) {
  std::vector<Tensor> src, dst, number;
  for (std::size_t r = 0; r < relations.size(); ++r) {
    const NodePairs pairs = part(r);
    src.push_back(pairs.src), dst.push_back(pairs.dst);
    number.push_back(Tensor::full(pairs.src.shape(), static_cast<double>(r), DType::kI64));
  }
  return {concat_rows(src), concat_rows(dst), concat_rows(number)};
}

/// Scores of pairs from embeddings. Its memory stays in place: a CUDA graph may hold it.
struct PairScores {
  std::function<Variable(const StepInput&)> predict;
  const LinkDecoder* decoder = nullptr;
  std::vector<LinkRelation> relations;
  ScoredPairs training;  // its negatives are drawn in every step
  std::array<ScoredPairs, 3> sets;
  Random random;
  Communicator ranks;

  Variable training_scores() {
    const std::int64_t own = training.negatives->first_row(), own_end = own + training.negatives->num_rows();
    std::int64_t first = 0;  // negative of the relation, among those of all
    for (const LinkRelation& relation : relations) {
      RandomKey key = random.next();
      const std::int64_t last = first + relation.split.train.src.numel(), begin = std::max(first, own),
                         end = std::min(last, own_end);
      key.first_row = begin - first;
      if (begin < end) negative_edges(relation.graph, key, training.drawn(begin, end), relation.among);
      first = last;
    }
    return predict({.pairs = &training.pairs});
  }

  /// Scores of all sets and ranks: [pairs, 1].
  Variable all_scores() const {
    const Variable z = predict({});
    std::vector<Tensor> all;
    for (const ScoredPairs& set : sets) {
      const Tensor own = decoder->forward(z, set.pairs).value();
      if (ranks.size() == 1) {
        all.push_back(own);
      } else {
        const std::int64_t edges = set.positives->num_rows();
        all.push_back(ranks.all_gather(own.slice(0, edges), set.positives->rows()));
        all.push_back(ranks.all_gather(own.slice(edges, own.dim(0)), set.negatives->rows()));
      }
    }
    return Variable(concat_rows(all));
  }
};

/// Refuses a metric that no scores can change, and warns of one beside it: Hits@K among fewer than K
/// negatives.
void check_hits(const TrainOptions& options, const std::vector<RelationPairs>& relations, NodeTask& task) {
  for (const std::size_t s : {1, 2}) {
    std::int64_t most = 0, edges = 0;
    for (const RelationPairs& relation : relations) {
      const PairCounts& pairs = relation.sets[s];
      edges += pairs.positives;
      if (pairs.positives > 0)
        most = std::max(most, pairs.by_edge ? pairs.negatives / pairs.positives : pairs.negatives);
    }
    if (edges == 0 || most >= options.hits) continue;
    const std::string why =
        str("Hits@", options.hits, " of the ", kSetNames[s],
            " edges is 1 for all scores: each is ranked among ", count_of(most, "negative"));
    check(options.link_metric != kRankingHits, "--link-metric hits: ", why, ": give --hits of at most ",
          most);
    return task.warnings.push_back(why);
  }
}

std::vector<PairRelation> pair_relations(const std::vector<LinkRelation>& relations) {
  std::vector<PairRelation> out;
  for (const LinkRelation& relation : relations) {
    out.push_back({relation.graph, relation.among, relation.messages});
    for (const auto& [number, turned] : relation.messages)
      if (relation.split.undirected) out.back().messages.push_back({number, !turned});
  }
  return out;
}

}  // namespace

void add_decoder(NodeRun& run, const TrainOptions& options, std::int64_t relations) {
  NodeModel& model = run.model;
  Random random(options.seed ^ kLinkSeed);
  auto decoder = std::make_unique<LinkDecoder>(options.decoder, options.embedding, random,
                                               run.task.x.device(), DType::kF32, relations);
  model.predict = [encode = std::move(model.predict), nodes = run.task.partition,
                   score = decoder.get()](const StepInput& in) {
    const Variable z = nodes ? all_gather(*nodes, encode(in)) : encode(in);
    return in.pairs ? score->forward(z, *in.pairs) : z;
  };
  if (const std::vector<Variable> own = decoder->parameters(); !own.empty())
    model.groups.push_back({own, {.lr = options.lr}});
  model.module = std::make_unique<LinkModel>(std::move(model.module), std::move(decoder));
  model.text += fmt::format(", {} decoder of {} columns", name(options.decoder), options.embedding);
}

void set_link_parts(NodeRun& run, const std::vector<LinkRelation>& relations, const TrainOptions& options) {
  auto& [task, model] = run;
  const Device device = task.x.device();
  const Tensor place = task.order.defined() ? inverse_order(task.order) : Tensor();
  const auto joined = [&](const NodePairs EdgeSplit::*set) {  // in the task's node order
    return join(relations, [&](std::size_t r) {
      const NodePairs& pairs = relations[r].split.*set;
      return place.defined() ? NodePairs{take(place, pairs.src), take(place, pairs.dst)} : pairs;
    });
  };
  const NodePairs train = joined(&EdgeSplit::train);  // on the host
  auto shared = std::make_shared<PairScores>();
  PairScores& scores = *shared;
  scores.predict = model.predict;
  scores.decoder = &static_cast<const LinkModel&>(*model.module).decoder();
  scores.relations = relations;
  if (task.partition) scores.ranks = task.partition->ranks();
  scores.random = Random(options.seed ^ (kLinkSeed + 1));
  // The pairs of evaluations stay the same; those of training are drawn over in the first step.
  const NodePairs drawn = join(relations, [&](std::size_t r) {
    const auto& [name, split, graph, among, messages] = relations[r];
    const NodePairs fixed = negative_edges(graph, split.train.src.numel(), scores.random.next(), among);
    return NodePairs{fixed.src.to(kCpu), fixed.dst.to(kCpu)};
  });
  scores.training = scored_pairs(train, drawn, device, scores.ranks);
  scores.sets = {
      scored_pairs(train, drawn, device, scores.ranks),
      scored_pairs(joined(&EdgeSplit::val), joined(&EdgeSplit::val_negative), device, scores.ranks),
      scored_pairs(joined(&EdgeSplit::test), joined(&EdgeSplit::test_negative), device, scores.ranks)};
  PairRankingOptions ranking{.column = static_cast<int>(options.link_metric), .hits = options.hits};
  for (const LinkRelation& relation : relations) {
    const EdgeSplit& s = relation.split;
    if (s.in_both > 0) task.warnings.push_back(shared_edges_text(s.in_both, s.val.src.numel()));
    const auto count = [](const NodePairs& edges, const NodePairs& negatives, bool by_edge) {
      return PairCounts{edges.src.numel(), negatives.src.numel(), by_edge};
    };
    ranking.relations.push_back({relation.name,
                                 {count(s.train, s.train, false), count(s.val, s.val_negative, s.val_by_edge),
                                  count(s.test, s.test_negative, s.test_by_edge)}});
  }
  check_hits(options, ranking.relations, task);
  TrainerParts& parts = model.parts;
  parts.forward = [shared, module = model.module.get()](const StepInput& in) {
    if (in.batch) return shared->predict(in);
    return module->training() ? shared->training_scores() : shared->all_scores();
  };
  if (model.mini_batches)
    parts.source =
        make_steps(*model.mini_batches,
                   std::make_unique<PairBatchSampler>(
                       train, pair_relations(relations), model.mini_batches->sampler,
                       PairBatchOptions{.batch_size = options.batch, .seed = options.seed}, task.ranks));
  parts.criterion = std::make_shared<PairRanking>(
      scores.training.own(),
      std::array{scores.sets[0].of_all(), scores.sets[1].of_all(), scores.sets[2].of_all()}, device, ranking);
  parts.metrics = parts.criterion;
  task.metric = parts.metrics->metric_name();
  task.parts_of = "edges";
  task.split = parts.metrics->sets();
  task.split_sizes = task.split.sizes();
}

}  // namespace rodeo
