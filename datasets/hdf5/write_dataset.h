/// The parts of save_dataset() that files of one graph and files of several node types share.
#pragma once

#include "datasets/dataset.h"
#include "datasets/hdf5_writer.h"

namespace rodeo::hdf5 {

/// How an array of so many bytes is stored.
Hdf5Writer::Storage storage_of(std::int64_t bytes);
/// Does nothing for an undefined tensor.
void write_array(Hdf5Writer& file, const char* name, const Tensor& values);
/// Name, sizes and class names.
void write_attributes(Hdf5Writer& file, const Dataset& dataset);
/// Features, labels, ids, names and masks.
void write_nodes(Hdf5Writer& file, const Dataset& dataset);

}  // namespace rodeo::hdf5
