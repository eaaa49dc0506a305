/// The HTML report of a run.
#pragma once

#include <string>
#include <vector>

#include "train/io/run_log.h"
#include "train/task/node_model.h"
#include "train/task/options.h"
#include "train/trainer.h"

namespace rodeo {

/// A self-contained HTML page: no scripts, no network access, light and dark colours. Runs the model once in
/// evaluation mode with its current parameters, which are those after `weights_epoch`. `history`: the epochs
/// to plot. Over ranks, a collective call, which adds times and memory of each rank. The page has the command
/// line of the process and the time of the call.
std::string make_report(const TrainOptions& options, const NodeRun& run, const RunFacts& facts,
                        const std::vector<EpochReport>& history, const TrainSummary& summary,
                        int weights_epoch, const std::vector<double>& step_memory = {});

}  // namespace rodeo
