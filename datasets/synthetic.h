/// Synthetic graphs of any size, with features that correlate with the labels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/dataset.h"

namespace rodeo {

struct SyntheticOptions {
  enum class Pattern {
    kCommunities,  // communities and hubs (degree-corrected block model): skew and homophily below
    kRmat,         // R-MAT with quadrants 0.57, 0.19, 0.19, 0.05 (Chakrabarti et al., SDM 2004; Graph500)
    kGrid5,        // stencils of 5 points in 2-D, 7 and 27 points in 3-D. They include the node itself
    kGrid7,
    kGrid27,
  };
  Pattern pattern = Pattern::kCommunities;
  std::string name = "synthetic";
  std::int64_t nodes = 2708;
  std::int64_t edges = 10556;  // both directions are counted; an odd number is rounded down
  std::int64_t features = 1433;
  std::int64_t classes = 7;

  // kCommunities only. In [0, 0.95]. The expected degree of the node of rank r is proportional to r^-skew.
  // Hubs have at least (nodes / classes)^skew times the mean degree.
  double skew = 0.6;
  double homophily = 0.8;  // fraction of edges drawn within a community; the others are drawn from all nodes
  double label_noise = 0.1;  // fraction of nodes with a random label instead of their community

  // Features: the mean of the community plus noise of standard deviation 1, or a bag of words.
  double signal = 3;       // distance between the means of two communities
  std::int64_t words = 0;  // 0: means plus noise; else the number of words drawn for each node, x is 0 or 1
  double topical = 0.3;    // fraction of words drawn from the 1/classes of all words that mark the community

  std::string split{};  // "54/18/28" for random_split(); empty: planetoid_split() with
  std::int64_t train_per_class = 20, val = 500, test = 1000;

  bool shuffle = true;  // random node order; false: by community, hubs first
  std::uint64_t seed = 0;
};

/// "cora", "pubmed", "arxiv", "reddit" or "products": the size, skew and split of the graph of that name.
/// "rmat-SCALE-EDGES"        2^SCALE nodes; "rmat-20-16M"
/// "uniform-NODES-DEGREE"    NODES x DEGREE edges between uniformly drawn nodes; "uniform-1M-32"
/// "powerlaw-NODES-EDGES"    hubs (skew 0.6) without communities
/// "grid-5-SIDE"             SIDE^2 nodes, 5-point stencil, in the order of the grid
/// "grid-7-SIDE", "grid-27-SIDE"  SIDE^3 nodes; "grid-27-100"
/// EDGES counts both directions; K, M and G stand for 10^3, 10^6 and 10^9. Throws Error that lists
/// synthetic_preset_names() for other names.
SyntheticOptions synthetic_preset(std::string_view name);
std::string synthetic_preset_names();
/// Parses --node-order into SyntheticOptions::shuffle: "shuffled" or "community". Throws Error otherwise.
bool parse_shuffle(std::string_view text);

/// Whether it is one of the stencils.
bool is_grid(SyntheticOptions::Pattern pattern);
/// The edges of a grid of that many nodes; 0 if there is no such grid.
std::int64_t grid_edges(SyntheticOptions::Pattern pattern, std::int64_t nodes);

/// The graph is symmetric and has exactly options.edges edges sorted by (destination, source), without
/// duplicates. Only grids have self loops. With communities it has almost no isolated nodes if edges >= 2 *
/// nodes. Ids are i32. A function of the options only, not of the number of threads or of `sort_on`, the
/// device that sorts the edges; the result is on the host. Throws Error for options out of range, for a graph
/// that is too dense to draw, and for a split that has more nodes than there are.
Dataset synthesize(const SyntheticOptions& options, Device sort_on = kCpu);

/// The graph of synthesize() alone, on `device`.
Adjacency synthetic_graph(const SyntheticOptions& options, Device device);
/// The community of every node: its label, where label_noise is 0.
std::vector<std::int32_t> synthetic_communities(const SyntheticOptions& options);

}  // namespace rodeo
