/// Puts the features of mini-batches where choose_places() says.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/task/batch_places.h"
#include "train/task/disk_features.h"
#include "train/task/feature_form.h"

namespace rodeo {

/// Where a graph with mini-batches goes, and the file that it is from; empty: it is in memory.
struct Placing {
  std::vector<BatchPlaces> places;  // the chosen ones first
  std::string file;
};

/// Chosen by the header of the file, or for a dataset in memory. Throws Error as choose_places() does, and
/// where --features-on is host or disk and the features are sparse. Over ranks there is one place, the same
/// for all: they would not run out of memory together.
Placing place_file(const TrainOptions& options, Device device, const Communicator& ranks);
Placing place_dataset(const Dataset& dataset, const TrainOptions& options, Device device,
                      const Communicator& ranks);

/// Whether load_dataset() reads the features; else place_features() does.
bool loads_features(const Placing& placing, const TrainOptions& options);

/// Converted features, and where they are.
struct PlacedFeatures {
  ChosenFeatures chosen;
  bool on_host = false;                // in page-locked memory, that of all ranks of the host
  std::shared_ptr<DiskFeatures> disk;  // features that stay in the file; chosen.x has no rows then
  std::string places;                  // BatchPlaces::text
};

/// Converts dense features to placing.places[0] and, where there is no memory for them and they are in a
/// file, to the next places with the graph where it is. Takes dataset.x, if it is defined.
PlacedFeatures place_features(Dataset& dataset, const Placing& placing, const TrainOptions& options,
                              Device device, const Communicator& ranks);

}  // namespace rodeo
