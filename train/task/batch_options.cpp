#include "train/task/batch_options.h"

namespace rodeo {

void add_batch_options(OptionGroup training) {
  using Role = OptionRole;
  training.integer(
      Role::kTraining, "batch", field(&TrainOptions::batch), 0,
      "Train on mini-batches of N training nodes, of all ranks together, and sampled neighbours; 0: on the "
      "whole graph");
  training.text(
      Role::kTraining, "fanout", field(&TrainOptions::fanout), "K,K,...",
      "With --batch, sampled edges of a node, a number for each layer: of the training nodes first, "
      "then hop by hop. -1: all; default: 10 each");
  training.flag(Role::kTraining, "replace", field(&TrainOptions::replace),
                "With --batch, sample edges with replacement");
  training.two_words(Role::kTraining, "batch-by", field(&TrainOptions::batch_by_parts), "parts", "neighbours",
                     "What --batch N is: N training nodes and sampled neighbours, or a random part of N of "
                     "all nodes with the edges between them");
  training.choice(Role::kRun, "features-on", field(&TrainOptions::features_on),
                  "With --batch, where features are: on the device, in page-locked host memory, or in the "
                  "file; auto: the first of them that has room");
  training.choice(Role::kRun, "graph-on", field(&TrainOptions::graph_on),
                  "With --batch, where the edges are that neighbours are sampled from; auto: on the device, "
                  "if it has room");
  training.integer(
      Role::kRun, "feature-cache", field(&TrainOptions::feature_cache_mib), -1,
      "MiB of the device for the rows of features on the host or on disk that are read most; -1: half "
      "of what is free, on the CPU none");
  training.two_words(Role::kRun, "eval", field(&TrainOptions::eval_sampled), "sampled", "layerwise",
                     "With --batch, evaluations are exact, layer by layer, or on samples of --fanout");
}

}  // namespace rodeo
