#include "train/task/batch_models.h"
#include "train/task/option_parts.h"

namespace rodeo {
namespace {

void add_batches_of_nodes(OptionGroup training) {
  training.integer(
      kTraining, "batch", &TrainOptions::batch, 0,
      "Train on mini-batches of N training nodes, of all ranks together, and sampled neighbours; 0: on the "
      "whole graph");
  training.text(
      kTraining | kInBatches, "fanout", &TrainOptions::fanout, "K,K,...",
      "With --batch, sampled edges of a node, a number for each layer: of the training nodes first, "
      "then hop by hop. -1: all; default: 10 each");
  training.flag(kTraining | kInBatches, "replace", &TrainOptions::replace,
                "With --batch, sample edges with replacement");
  training.two_words(kTraining | kInBatches, "batch-by", &TrainOptions::batch_by_parts, "parts", "neighbours",
                     "What --batch N is: N training nodes and sampled neighbours, or a random part of N of "
                     "all nodes with the edges between them");
  training.under(kKernels).choice(
      kRun | kInBatches, "features-on", &TrainOptions::features_on,
      "With --batch, where features are: on the device, in page-locked host memory, in the file, or "
      "cut among the devices of several ranks (peers); auto: on the device, cut among the GPUs of a host, in "
      "host memory or in the file, the first that has room");
  training.under(kKernels).choice(
      kRun | kInBatches, "graph-on", &TrainOptions::graph_on,
      "With --batch, where the edges are that neighbours are sampled from: on the device, in page-locked "
      "host "
      "memory, or cut among the devices of several ranks (peers); auto: on the device, if it has room, else "
      "on the host");
  training.under(kKernels).integer(
      kRun | kInBatches, "feature-cache", &TrainOptions::feature_cache_mib, -1,
      "MiB of the device for the rows of features on the host, on disk or of other ranks that are read most; "
      "-1: half of what is free, on the CPU none");
  training.two_words(kRun | kInBatches, "eval", &TrainOptions::eval_sampled, "sampled", "layerwise",
                     "With --batch, evaluations are exact, layer by layer, or on samples of --fanout");
}

void add_batches_of_graphs(OptionGroup training) {
  training.integer(kTraining | kGraph, "batch-graphs", &TrainOptions::batch_graphs, 2,
                   "Graphs in a mini-batch");
  training.integer(
      kTraining | kGraph, "folds", &TrainOptions::folds, 3,
      "Parts of the graphs, with equal shares of the classes: one is tested on, the next validates");
  training.add(
      kTraining | kGraph, "fold",
      "The part to test on, from 0; all: one run for each, and their mean; file: the masks of graphs of the "
      "file",
      "K|all|file",
      [](const TrainOptions& o) -> OptionValue {
        return o.fold < 0 ? "all" : o.fold == kFoldOfFile ? "file" : std::to_string(o.fold);
      },
      [](TrainOptions& o, const std::string& text) {
        o.fold = text == "all" ? -1
                 : text == "file"
                     ? kFoldOfFile
                     : parse_option_number<int>("fold", text, "an integer of at least 0, all or file",
                                                [](int k) { return k >= 0; });
      });
}

}  // namespace

void add_source_options(OptionGroup training, const ConvTraits& traits) {
  if (!traits.hops) add_batches_of_nodes(training);
  add_batches_of_graphs(training);
}

void check_source_options(const TrainOptions& o) {
  check(o.fold != kFoldOfFile || o.folds == TrainOptions().folds,
        "--fold file takes the split of the file, and --folds ", o.folds,
        " draws one: leave one of them out");
  check(o.batch == 0 || o.task != TaskKind::kGraph,
        "--batch is for --task node and link: a set of graphs has --batch-graphs");
  check(!o.batch_by_parts || o.task == TaskKind::kNode,
        "--batch-by parts is for --task node: both nodes of a pair are rarely in one part");
  check(!o.batch_by_parts || (o.fanout.empty() && !o.replace),
        "--fanout and --replace are for --batch-by neighbours: parts have all edges between their nodes");
  check(!o.eval_sampled || !o.batch_by_parts,
        "--eval sampled is for --batch-by neighbours: parts have no --fanout");
  check(o.features_on == FeaturesOn::kAuto || o.features_on == FeaturesOn::kDevice ||
            o.features != FeatureForm::kSparse,
        "--features-on ", name(o.features_on),
        " is for dense features, and --features sparse was given: sparse ones stay on the device");
  check(o.features_on != FeaturesOn::kDisk || o.reorder == NodeOrder::kNone,
        "--features-on disk reads rows in the order of the file: not with --reorder; rodeo_data reorder "
        "writes a file in another order");
  check(
      o.feature_cache_mib < 0 || o.features_on != FeaturesOn::kDevice,
      "--feature-cache is for features on the host, on disk or on peers, and --features-on device was given");
  if (o.batch > 0) fanout_of(o);
}

}  // namespace rodeo
