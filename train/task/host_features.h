/// Features of mini-batches in host memory, with the rows that are read most on the device: --features-on,
/// --feature-cache.
#pragma once

#include <string>

#include "ops/row_cache.h"
#include "train/mini_batches.h"
#include "train/task/options.h"

namespace rodeo {

/// Whether dense features of `rows` x `columns` are kept in host memory: what --features-on says, or with
/// auto, whether they would take more than 60 % of the device's free memory.
bool keeps_features_on_host(const TrainOptions& options, std::int64_t rows, std::int64_t columns,
                            Device device);

/// The cache of x, page-locked, for batches that `training` samples. Which rows are read is counted over up
/// to 32 batches (pre-sampling; Yang et al., "GNNLab", EuroSys 2022). Its size is --feature-cache, by default
/// half of the device's free memory, or less where that cannot be allocated; none on the CPU. Deterministic,
/// but for the size.
struct HottestRows {
  RowCache cache;
  double share = 0;  // of the reads that were counted, those of cached rows
};
HottestRows hottest_rows(const Tensor& x, const MiniBatchTraining& training, const TrainOptions& options);

/// "in host memory, page-locked 26.50 GiB; the device has 31.2 % of the rows, for 78.4 % of the reads"
std::string describe(const Tensor& x, const HottestRows& hottest);

}  // namespace rodeo
