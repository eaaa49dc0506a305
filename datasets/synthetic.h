/// Random graphs with communities, hubs and features that tell something about labels, of any size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "datasets/dataset.h"

namespace rodeo {

struct SyntheticOptions {
  std::string name = "synthetic";
  std::int64_t nodes = 2708;
  std::int64_t edges = 10556;  // as stored, each in both directions; an odd number is rounded down
  std::int64_t features = 1433;
  std::int64_t classes = 7;

  // In [0, 0.95]. The node of rank r has edges in proportion to r^-skew: hubs have (nodes / classes)^skew
  // times the mean and more.
  double skew = 0.6;
  double homophily = 0.8;    // share of edges drawn within a community; others fall into it by chance
  double label_noise = 0.1;  // share of nodes with a random label in place of their community's

  // Features: the mean of the community and noise of deviation 1, or a bag of words.
  double signal = 3;       // distance of two communities' means
  std::int64_t words = 0;  // 0: means and noise; else so many draws of words for each node, and x is 0 or 1
  double topical = 0.3;  // share of draws from the words that are typical for the community, 1/classes of all

  std::string split{};  // "54/18/28" as in random_split(); empty: as in planetoid_split(), with
  std::int64_t train_per_class = 20, val = 500, test = 1000;

  bool shuffle = true;  // random node order; false: by community, hubs first
  std::uint64_t seed = 0;
};

/// "cora", "pubmed", "arxiv", "reddit" or "products": the size, skew and split of the graph of that name.
/// Throws Error for any other, naming synthetic_preset_names().
SyntheticOptions synthetic_preset(std::string_view name);
std::string synthetic_preset_names();
/// SyntheticOptions::shuffle of --node-order: "shuffled" or "community"; throws Error for anything else.
bool parse_shuffle(std::string_view text);

/// The graph is symmetric, without self loops or duplicates, has exactly options.edges edges sorted by
/// (destination, source), and next to no isolated nodes where edges >= 2 nodes. Ids are i32. A function of
/// the options alone, whatever the number of threads. Throws Error for options out of range, for a graph that
/// is too dense to draw, and where the split does not fit.
Dataset synthesize(const SyntheticOptions& options);

}  // namespace rodeo
