/// How a training command runs on the ranks that a launcher started.
#pragma once

#include <functional>
#include <string_view>

#include "core/communicator.h"
#include "train/task/options.h"

namespace rodeo {

/// run_command() (run_command.h) with the ranks of the launcher; one rank without a launcher. Only rank 0
/// writes to stdout. An error on any rank ends all of them: one message names the rank, and the exit code is
/// that of run_command() on that rank.
int run_command_on_ranks(std::string_view program, const std::function<void(const Communicator&)>& body);

/// The ranks that the command must start itself (launch_ranks), because of --gpus or --ranks; 1: none. Throws
/// Error if options contradict each other.
int num_ranks_to_start(const TrainOptions& options);
/// The device of this rank. Throws Error for a --device that several ranks cannot share, and for a number of
/// ranks other than that of --gpus or --ranks.
Device rank_device(const TrainOptions& options, const Communicator& ranks);
/// Throws Error unless all ranks have the same options, apart from the device. A collective call.
void check_same_options(const TrainOptions& options, const Communicator& ranks);

}  // namespace rodeo
