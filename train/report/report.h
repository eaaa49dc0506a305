/// A run on one page.
#pragma once

#include <string>
#include <vector>

#include "train/io/run_log.h"
#include "train/task/node_model.h"
#include "train/task/options.h"
#include "train/trainer.h"

namespace rodeo {

/// An HTML page that needs nothing but itself: no scripts, no network; light and dark. Runs the model once,
/// in evaluation mode, as it is now; `history` are the epochs to show.
std::string make_report(const TrainOptions& options, const NodeRun& run, const RunFacts& facts,
                        const std::vector<EpochReport>& history, const TrainSummary& summary,
                        const std::vector<double>& step_memory = {});

}  // namespace rodeo
