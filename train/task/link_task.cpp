#include "train/task/link_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "datasets/reorder.h"
#include "ops/bce.h"
#include "ops/combine.h"
#include "ops/ranking.h"
#include "train/objective.h"
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

/// The rank's share of some pairs: positive ones, then negative ones.
struct ScoredPairs {
  Tensor src, dst;  // i64 [positives + negatives]
  Tensor target;    // u8 [positives + negatives, 1]
  Tensor index;     // i64: 0, 1, 2, ...
  std::int64_t positives = 0;
  std::vector<std::int64_t> all_positives, all_negatives;  // of each rank
  std::int64_t first_negative = 0;                         // of the rank, among those of all ranks
  double share = 1;                                        // of the pairs of all ranks

  std::int64_t size() const { return src.numel(); }
  NodePairs negatives() const { return {src.slice(positives, size()), dst.slice(positives, size())}; }
};

/// About equally many for each rank.
std::vector<std::int64_t> cut_pairs(std::int64_t count, int ranks) {
  std::vector<std::int64_t> out;
  for (std::int64_t r = 0; r < ranks; ++r) out.push_back((r + 1) * count / ranks - r * count / ranks);
  return out;
}

ScoredPairs scored_pairs(const NodePairs& positive, const NodePairs& negative, Device device,
                         const Communicator& ranks) {
  ScoredPairs out;
  const auto own = [&](const NodePairs& pairs, std::vector<std::int64_t>& all, std::int64_t* first) {
    all = cut_pairs(pairs.src.numel(), ranks.size());
    const std::int64_t begin = std::accumulate(all.begin(), all.begin() + ranks.rank(), std::int64_t{0}),
                       end = begin + all[static_cast<std::size_t>(ranks.rank())];
    if (first) *first = begin;
    return NodePairs{pairs.src.slice(begin, end), pairs.dst.slice(begin, end)};
  };
  const NodePairs of_edges = own(positive, out.all_positives, nullptr),
                  of_draws = own(negative, out.all_negatives, &out.first_negative);
  out.src = concat_rows(std::vector{of_edges.src, of_draws.src}).to(device);
  out.dst = concat_rows(std::vector{of_edges.dst, of_draws.dst}).to(device);
  out.positives = of_edges.src.numel();
  out.target = Tensor::zeros({out.size(), 1}, DType::kU8, device);
  out.target.slice(0, out.positives).fill(1);
  out.index = counted(out.size(), device);
  out.share = static_cast<double>(out.size()) /
              static_cast<double>(std::max<std::int64_t>(1, positive.src.numel() + negative.src.numel()));
  return out;
}

/// What the functions of the objective share. Its memory stays in place: a CUDA graph may hold it.
struct LinkObjective {
  std::function<Variable()> embed;  // of all nodes
  const LinkDecoder* decoder = nullptr;
  Adjacency graph;
  ScoredPairs training;  // its negatives are drawn in every step
  std::array<ScoredPairs, 3> parts;
  Random random;
  int column = kRankingAuc;
  std::int64_t hits = 50;
  Tensor metrics;  // f64 [3, kRankingColumns], of the last evaluation
  Communicator ranks;

  Variable loss() {
    const Variable z = embed();
    RandomKey key = random.next();
    key.first_row = training.first_negative;
    negative_edges(graph, key, training.negatives());
    const Variable logits = decoder->forward(z, training.src, training.dst);
    if (training.size() == 0) return no_loss(logits);
    const Variable mean = bce_with_logits(logits, training.target, training.index);
    return ranks.size() == 1 ? mean : linear_combination(training.share, mean, 0, mean);
  }

  Tensor evaluate() const {
    const Variable z = embed();
    const Tensor out = Tensor::empty({6}, DType::kF64, metrics.device()),
                 losses = Tensor::empty({3}, DType::kF64, metrics.device());
    for (std::int64_t p = 0; p < 3; ++p) {
      const ScoredPairs& pairs = parts[static_cast<std::size_t>(p)];
      const Tensor logits = decoder->forward(z, pairs.src, pairs.dst).value();
      const Tensor flat = logits.reshape({pairs.size()}),
                   row = metrics.slice(p, p + 1).reshape({kRankingColumns});
      const auto of_all = [&](std::int64_t begin, std::int64_t end, const std::vector<std::int64_t>& all) {
        return ranks.size() == 1 ? flat.slice(begin, end) : ranks.all_gather(flat.slice(begin, end), all);
      };
      const Tensor positives = of_all(0, pairs.positives, pairs.all_positives);
      row.copy_from(
          ranking_metrics(positives, of_all(pairs.positives, pairs.size(), pairs.all_negatives), hits));
      const Tensor mean = label_metrics(logits, pairs.target, {pairs.index}).reshape({2}).slice(1, 2);
      out.slice(2 * p, 2 * p + 1).copy_from(row.slice(column, column + 1));
      losses.slice(p, p + 1).copy_from(ranks.size() == 1 ? mean
                                                         : linear_combination(pairs.share, mean, 0, mean));
    }
    if (ranks.size() > 1) ranks.all_reduce(losses);
    for (std::int64_t p = 0; p < 3; ++p) out.slice(2 * p + 1, 2 * p + 2).copy_from(losses.slice(p, p + 1));
    return out.reshape({3, 2});
  }
};

/// "AUC", "Hits@50"
std::string metric_name(int column, std::int64_t hits) {
  constexpr const char* kNames[] = {"AUC", "AP", "MRR"};
  return column == kRankingHits ? fmt::format("Hits@{}", hits) : kNames[column];
}

}  // namespace

void add_decoder(NodeModel& model, const TrainOptions& options, Device device) {
  Random random(options.seed ^ kLinkSeed);
  auto decoder = std::make_unique<LinkDecoder>(options.decoder, options.embedding, random, device);
  const LinkDecoder* score = decoder.get();
  if (const std::vector<Variable> own = decoder->parameters(); !own.empty())
    model.groups.push_back({own, {.lr = options.lr}});
  model.module = std::make_unique<LinkModel>(std::move(model.module), std::move(decoder));
  model.score = [embed = model.forward, score](const Tensor& src, const Tensor& dst) {
    return score->forward(embed(), src, dst);
  };
  model.text += fmt::format(", {} decoder of {} columns", name(options.decoder), options.embedding);
}

void add_link_objective(NodeRun& run, const EdgeSplit& split, const Adjacency& graph,
                        const TrainOptions& options) {
  auto& [task, model] = run;
  const Device device = task.x.device();
  const Tensor place = task.order.defined() ? inverse_order(task.order) : Tensor();
  const auto ordered = [&](const NodePairs& pairs) {  // in the task's node order
    return place.defined() ? NodePairs{take(place, pairs.src), take(place, pairs.dst)} : pairs;
  };
  const NodePairs train = ordered(split.train);
  auto shared = std::make_shared<LinkObjective>();
  LinkObjective& link = *shared;
  link.embed = model.forward;
  link.decoder = &static_cast<const LinkModel&>(*model.module).decoder();
  link.graph = graph;
  if (task.partition) link.ranks = task.partition->ranks();
  link.random = Random(options.seed ^ (kLinkSeed + 1));
  link.column = static_cast<int>(options.link_metric);
  link.hits = options.hits;
  link.metrics = Tensor::zeros({3, kRankingColumns}, DType::kF64, device);
  // The pairs of evaluations stay the same; those of training are drawn over in the first step.
  const NodePairs fixed = negative_edges(graph, train.src.numel(), link.random.next());
  const NodePairs drawn{fixed.src.to(kCpu), fixed.dst.to(kCpu)};
  link.training = scored_pairs(train, drawn, device, link.ranks);
  link.parts = {scored_pairs(train, drawn, device, link.ranks),
                scored_pairs(ordered(split.val), ordered(split.val_negative), device, link.ranks),
                scored_pairs(ordered(split.test), ordered(split.test_negative), device, link.ranks)};
  model.objective = {.loss = [shared] { return shared->loss(); },
                     .evaluate = [shared] { return shared->evaluate(); },
                     .loss_is_part = true};
  model.details = [shared] {
    const std::vector<double> all = shared->metrics.to_vector<double>();
    std::vector<std::pair<std::string, double>> out;
    for (int m = 0; m < kRankingColumns; ++m)
      out.emplace_back(metric_name(m, shared->hits), all[2 * kRankingColumns + m]);
    return out;
  };
  task.metric = metric_name(link.column, link.hits);
  task.parts_of = "edges";
  task.split = {counted(train.src.numel(), device), counted(split.val.src.numel(), device),
                counted(split.test.src.numel(), device)};
  task.split_sizes = {task.split.train.numel(), task.split.val.numel(), task.split.test.numel()};
}

}  // namespace rodeo
