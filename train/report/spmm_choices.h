/// The SpMM and SDDMM algorithms of a training run, and what its ranks exchange, for --explain and the
/// report.
#pragma once

#include <string>

#include "core/adjacency.h"
#include "ops/spmm.h"
#include "train/task/options.h"

namespace rodeo {

/// The form of each product over ranks (ops/aggregation.h); empty on one rank. adj may be sharded. Part of
/// the texts below.
std::string format_aggregation_choices(const Adjacency& adj);
/// The algorithms that SpmmAlgorithm::kAuto chose for a graph and for its transpose, or the one that was
/// requested.
std::string format_spmm_choices(SpmmAlgorithm requested, const Adjacency& adj);
/// Choices for the dot products of composed attention; adj may be sharded.
std::string format_sddmm_choices(SddmmAlgorithm requested, const Adjacency& adj);
/// The choices of a run; empty where its algorithms leave none.
std::string format_choices(const TrainOptions& options, const Adjacency& adj);

}  // namespace rodeo
