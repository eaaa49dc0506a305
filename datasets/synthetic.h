/// Random graphs of any size with communities, hubs and features that correlate with the labels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "datasets/dataset.h"

namespace rodeo {

struct SyntheticOptions {
  std::string name = "synthetic";
  std::int64_t nodes = 2708;
  std::int64_t edges = 10556;  // both directions are counted; an odd number is rounded down
  std::int64_t features = 1433;
  std::int64_t classes = 7;

  // In [0, 0.95]. The expected degree of the node of rank r is proportional to r^-skew. Hubs have at least
  // (nodes / classes)^skew times the mean degree.
  double skew = 0.6;
  double homophily = 0.8;    // share of edges drawn within a community; the others are drawn from all nodes
  double label_noise = 0.1;  // share of nodes with a random label instead of their community

  // Features: the mean of the community plus noise of standard deviation 1, or a bag of words.
  double signal = 3;       // distance between the means of two communities
  std::int64_t words = 0;  // 0: means plus noise; else the number of words drawn for each node, x is 0 or 1
  double topical = 0.3;    // share of words drawn from the 1/classes of all words that mark the community

  std::string split{};  // "54/18/28" for random_split(); empty: planetoid_split() with
  std::int64_t train_per_class = 20, val = 500, test = 1000;

  bool shuffle = true;  // random node order; false: by community, hubs first
  std::uint64_t seed = 0;
};

/// "cora", "pubmed", "arxiv", "reddit" or "products": the size, skew and split of the graph of that name.
/// Throws Error that lists synthetic_preset_names() for other names.
SyntheticOptions synthetic_preset(std::string_view name);
std::string synthetic_preset_names();
/// Parses --node-order into SyntheticOptions::shuffle: "shuffled" or "community". Throws Error otherwise.
bool parse_shuffle(std::string_view text);

/// The graph is symmetric, without self loops or duplicates, and has exactly options.edges edges sorted by
/// (destination, source). It has almost no isolated nodes if edges >= 2 * nodes. Ids are i32. A function of
/// the options only, not of the number of threads. Throws Error for options out of range, for a graph that is
/// too dense to draw, and for a split that has more nodes than there are.
Dataset synthesize(const SyntheticOptions& options);

}  // namespace rodeo
