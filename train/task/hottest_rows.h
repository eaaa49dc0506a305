/// The rows that mini-batches read most, on the device, of features in host memory, in the file or on several
/// ranks: --features-on, --feature-cache.
#pragma once

#include <string>

#include "ops/peer_rows.h"
#include "ops/row_cache.h"
#include "train/mini_batches.h"
#include "train/task/disk_features.h"
#include "train/task/options.h"

namespace rodeo {

/// The cache of x, page-locked, for batches that `training` samples. Which rows are read is counted over up
/// to 32 batches (pre-sampling; Yang et al., "GNNLab", EuroSys 2022). Its size is --feature-cache, by default
/// half of the device's free memory, or less where that cannot be allocated; none on the CPU. Deterministic,
/// but for the size.
struct HottestRows {
  RowCache cache;
  double share = 0;  // of the reads that were counted, those of cached rows
  std::string text;  // where x is, and how much of it is in the cache
};
/// The cache of features in host memory, which the ranks of a host share. A collective call.
///   text  "in host memory, page-locked 26.50 GiB; the device has 31.2 % of the rows, for 78.4 % of the
///         reads"
HottestRows hottest_rows(const Tensor& x, const MiniBatchTraining& training, const TrainOptions& options);
/// The cache of features in the file; `x` is given the cache.
///   text  "in the file, 26.50 GiB; the device has 31.2 % of the rows, for 78.4 % of the reads"
HottestRows hottest_rows(DiskFeatures& x, const MiniBatchTraining& training, const TrainOptions& options);
/// The cache of rows of other ranks; `x` is given the cache. It has as many rows on all ranks: those that the
/// rank with the least memory has room for. `share` is of the reads of such rows. A collective call.
///   text  "cut among 2 ranks, 13.25 GiB on this one, which has 12.3 % of the other rows too, for 60.1 % of
///         their reads"
HottestRows hottest_rows(PeerRows& x, const MiniBatchTraining& training, const TrainOptions& options);

}  // namespace rodeo
