/// Where the graph and the features of mini-batches are: --graph-on, --features-on. No GPU is needed to
/// choose.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/communicator.h"
#include "core/device_type.h"
#include "train/task/options.h"

namespace rodeo {

/// Sizes of a graph, from the header of its file.
struct BatchGraph {
  std::int64_t nodes = 0, edges = 0, features = 0, edge_features = 0;
  bool weighted = false;
};

/// Bytes that training on mini-batches of a graph takes, beside those of a batch.
struct BatchNeeds {
  std::int64_t graph = 0;              // CSR, edge weights and edge features
  std::int64_t graph_building = 0;     // the most while they are built, themselves included
  std::int64_t features = 0;           // as the model reads them
  std::int64_t features_building = 0;  // the most while all are normalised and converted, themselves included
  std::int64_t beside = 0;             // always on the device: labels, marks, an evaluation's hidden layer
};
BatchNeeds batch_needs(const BatchGraph& graph, const TrainOptions& options);

/// Free memory, and whether features can stay on disk.
struct BatchRoom {
  bool cuda = false;
  std::int64_t device = 0, host = 0;  // bytes for a rank; without CUDA, `device` is the host
  std::string not_on_disk;            // why features cannot be read row by row; empty: they can
  int ranks = 1;                      // of the host: they share features in its memory
};

struct BatchPlaces {
  FeaturesOn features = FeaturesOn::kDevice;  // not kAuto
  GraphOn graph = GraphOn::kDevice;           // not kAuto
  bool in_pieces = false;  // features are converted piece by piece: all at once would not fit
  std::string text;        // "graph on the device, features in host memory (auto: ...)"
};

/// Where they are put: the fastest places that have room, then the slower ones, to be tried in this order
/// where the memory does not suffice after all. Never empty. Places that options.graph_on and
/// options.features_on name are taken as they are.
///   The device holds graph, features and `beside` in 60 % of what is free, and builds them in 90 %: the
///   rest is for batches. The host holds what it has in 80 %. On the CPU, the graph is on the device. Where
///   nothing fits, the device holds as little as possible.
/// Throws Error where auto finds no place: features larger than the host's memory that cannot stay on disk;
/// for FeaturesOn::kDisk, the reason why they cannot.
std::vector<BatchPlaces> choose_places(const TrainOptions& options, const BatchNeeds& needs,
                                       const BatchRoom& room);

/// Sizes of a file. Reads the header alone. Throws Error as Hdf5File does.
BatchGraph read_batch_graph(const std::string& path);

/// The free memory now. Over ranks, that of the rank with the least, and a host's is cut into equal parts for
/// its ranks. All ranks call it.
BatchRoom batch_room(Device device, std::string not_on_disk, const Communicator& ranks);

}  // namespace rodeo
