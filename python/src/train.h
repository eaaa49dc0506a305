/// Datasets and training.
#pragma once

#include "arrays.h"
#include "datasets/dataset.h"

namespace rodeo::python {

/// rodeo._core.Dataset.
struct PyDataset {
  Dataset data;
};

void bind_dataset(nb::module_& m);

}  // namespace rodeo::python
