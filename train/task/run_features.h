/// The features of a run, in the form and the memory of its plan.
#pragma once

#include "core/rank_memory.h"
#include "train/task/data_source.h"
#include "train/task/node_task.h"

namespace rodeo {

/// Reads the features that `dataset` has not, converts all to the input of a model, and sets x and what
/// describes it in `task`. Where there is no memory and a file can be read again, tries the next tiers of the
/// plan that keep the graph where it is. Removes the features from `dataset`.
///   dataset  the nodes of this rank, where task.partition says so
///   ranks    of the run. A collective call
void add_features(NodeTask& task, Dataset& dataset, const RunPlan& plan, const TrainOptions& options,
                  const Communicator& ranks);

/// Scales and converts the rows from `first` on to `to`, piece by piece: the bits of convert_features(),
/// without a second copy of all rows.   host: its ranks convert some of the pieces each
void convert_pieces(const FeatureRows& from, std::int64_t first, const Tensor& to, const FeatureScale& scale,
                    const TrainOptions& options, const HostRanks& host = {});

}  // namespace rodeo
