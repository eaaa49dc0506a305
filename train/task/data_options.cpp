#include "train/task/option_parts.h"

namespace rodeo {

void add_data_options(OptionGroup data) {
  data.text(kRun | kShort | kCommand, "dataset", &TrainOptions::dataset, "FILE",
            "HDF5 file with the graph (required)");
  data.choice(kModel, "task", &TrainOptions::task,
              "What is predicted: the class of each node, missing edges, or the class of each graph of a "
              "set. Each has its own options and defaults");
  data.text(
      kTraining | kLink, "edge-split", &TrainOptions::edge_split, "A/B/C",
      "Shares of training, validation and test edges, drawn at random (default: the edges that the file "
      "names, else 85/5/10)");
  data.text(kTraining | kNode | kShort, "split", &TrainOptions::split, "K|A/B/C|class:N/A/B[@SEED]",
            "Replaces the file's masks. 2: the file's split of that number, from 0; 60/20/20 or "
            "0.6/0.2/0.2: a random one; class:20/500/1000: random, 20 training nodes of each class, by "
            "--seed, or @123: by torch.randperm with that seed");
  data.flag(kModel | kShort, "undirected", &TrainOptions::undirected,
            "Add the reverse of every edge and drop duplicates");
  data.choice(kModel, "input-features", &TrainOptions::input_features,
              "Features that are made, for a graph without: degree, the number of edges to a node as one of "
              "up to 256 columns; onehot, a column for each node; random, 64 numbers; ones; file: its own");
  data.choice(
      kModel, "normalize-features", &TrainOptions::normalize_features,
      "unit, row: divide each node's features by their Euclidean norm, or by their sum; standard: "
      "mean 0 and variance 1 of each column, over the training nodes or (standard-all) all; auto: row "
      "or unit for counts and sparse features, standard for dense ones, none for rows of norm 1");
}

}  // namespace rodeo
