/// Datasets and training.
#pragma once

#include <mutex>
#include <string>

#include "arrays.h"
#include "datasets/dataset.h"
#include "datasets/edge_split.h"
#include "datasets/hdf5_check.h"
#include "datasets/hetero_dataset.h"

namespace rodeo::python {

/// rodeo._core.Dataset.
struct PyDataset {
  Dataset data;
  EdgeSplit edge_split;  // of the file, for link prediction
};

/// RAII: HDF5 is for one thread at a time, and Python's threads run while it reads or writes.
struct Hdf5Lock {
  Hdf5Lock() : lock(mutex) {}
  /// Also checks a file that is read.
  explicit Hdf5Lock(const std::string& path) : Hdf5Lock() { check_hdf5_file(path); }

  static inline std::mutex mutex;
  nb::gil_scoped_release release;
  std::lock_guard<std::mutex> lock;
};

void bind_dataset(nb::module_& m);
void bind_hetero(nb::module_& m);

}  // namespace rodeo::python
