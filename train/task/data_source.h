/// What a run is trained on: a file, or a dataset in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/communicator.h"
#include "datasets/edge_split.h"
#include "datasets/hetero_dataset.h"
#include "train/task/run_plan.h"

namespace rodeo {

struct DataSource {
  std::string file{};      // empty: the dataset is in memory
  Dataset dataset{};       // in memory; reading takes it
  EdgeSplit edge_split{};  // in memory: the pairs that a file would name (load_edge_split)
  HeteroDataset hetero{};  // in memory, instead of `dataset`: a graph of several node types

  bool in_file() const { return !file.empty(); }
};

/// Rows of dense features: of a tensor, else of a file.
struct FeatureRows {
  Tensor x;
  std::string file;

  Tensor read(std::int64_t begin, std::int64_t end) const;
};

/// Reads no array. Throws Error as Hdf5File does.
DataHeader read_header(const DataSource& source, InputFeatures made = InputFeatures::kFile);
DataHeader header_of(const Dataset& dataset);

/// The free memory now. Over ranks, that of the rank with the least, and a host's is cut into equal fractions
/// for its ranks. A collective call.
Room measure_room(Device device, const Communicator& ranks);

/// Reads what the plan reads at first, or takes the dataset in memory. Throws Error as load_dataset does.
/// Over ranks a collective call. They may share the memory of edges, which are not to be written.
Dataset read_dataset(DataSource& source, const RunPlan& plan, const TrainOptions& options,
                     const Communicator& ranks = {});

/// Carries out options.input_features: the dataset's own features are dropped. Made of the edges that it has
/// now.
///   columns  as in make_features()
void add_input_features(Dataset& dataset, const TrainOptions& options, std::int64_t columns = 0);

/// Rows in each range of for_sampled_rows().
inline constexpr std::int64_t kSampledRows = 64;
/// Calls read(begin, end) for 16 ranges of at most `most` rows, spread over all; none is empty.
template <class F>
void for_sampled_rows(std::int64_t rows, std::int64_t most, F&& read) {
  constexpr std::int64_t kRanges = 16;
  for (std::int64_t range = 0; range < kRanges; ++range) {
    const std::int64_t begin = rows * range / kRanges,
                       end = std::min(rows * (range + 1) / kRanges, begin + most);
    if (begin < end) read(begin, end);
  }
}

/// Estimates the entries of dense features from a sample of rows: converting all of x to CSR could take more
/// memory than x.   x: f32 [nodes, features]
double sampled_density(const Tensor& x);

}  // namespace rodeo
