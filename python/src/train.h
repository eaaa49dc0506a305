/// Datasets and training.
#pragma once

#include <mutex>

#include "arrays.h"
#include "datasets/dataset.h"
#include "datasets/edge_split.h"
#include "datasets/hetero_dataset.h"

namespace rodeo::python {

/// rodeo._core.Dataset.
struct PyDataset {
  Dataset data;
  EdgeSplit edge_split;  // of the file, for link prediction
};

/// HDF5 is for one thread at a time, and Python's threads run while it reads. Lock it without the GIL.
std::mutex& hdf5_mutex();

void bind_dataset(nb::module_& m);
void bind_hetero(nb::module_& m);

}  // namespace rodeo::python
