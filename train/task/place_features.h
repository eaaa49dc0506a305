/// Puts the features of mini-batches where choose_places() says.
#pragma once

#include <string>
#include <vector>

#include "train/task/batch_places.h"
#include "train/task/feature_form.h"
#include "train/task/node_task.h"

namespace rodeo {

/// Where a graph with mini-batches goes, and the file that it is from; empty: it is in memory.
struct Placing {
  std::vector<BatchPlaces> places;  // the chosen ones first
  std::string file;
};

/// Chosen by the header of the file, or for a dataset in memory. Throws Error as choose_places() does, and
/// for
/// --features-on host and disk where the features are sparse.
Placing place_file(const TrainOptions& options, Device device);
Placing place_dataset(const Dataset& dataset, const TrainOptions& options, Device device);

/// Whether load_dataset() reads the features; else place_features() does.
bool loads_features(const Placing& placing, const TrainOptions& options);

/// Converts dense features to placing.places[0] and, where there is no memory for them and they are in a
/// file, to the next places with the graph where it is. Takes dataset.x, if it is defined. Sets x, features,
/// feature_norm, features_on_host, disk_features and places of `task`.
void place_features(Dataset& dataset, const Placing& placing, const TrainOptions& options, Device device,
                    NodeTask& task);

}  // namespace rodeo
