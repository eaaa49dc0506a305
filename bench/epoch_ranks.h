/// epoch_bench over several numbers of ranks.
#pragma once

#include "bench/epoch_options.h"

namespace rodeo::bench {

/// Runs this program once for each number of options.ranks, and then prints how the epochs scale, beside what
/// the cost model predicts for more GPUs (ops/sparse/simulated_step.h). Returns the exit code of the first
/// run that failed, else 0.
int run_numbers_of_ranks(const EpochOptions& options, int argc, const char* const* argv);

}  // namespace rodeo::bench
