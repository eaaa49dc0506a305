/// Starts the ranks of a run on this host, for programs that no launcher (mpirun, srun, torchrun) started.
#pragma once

#include <string>
#include <vector>

namespace rodeo {

/// Whether mpirun, srun, torchrun or launch_ranks() started this process as one of several ranks. Throws
/// Error if the launcher's environment contradicts itself.
bool started_as_rank();

/// Runs `count` copies of `command`, a program and its arguments, as ranks of this host, and returns when all
/// have ended. Communicator(options) joins them in each copy. Call it before the process starts threads or
/// uses a GPU.
///
/// - Rank 0 has the input and output of this process. The other ranks have no input, and their stdout is
///   dropped. Their stderr is printed if they fail.
/// - OMP_NUM_THREADS, where it is not set, becomes num_threads() / count, at least 1.
/// - If one rank fails, the others are ended: at once if a signal killed it, else after 5 s, in which they
///   may write files. One message names it, that of the rank itself where it claimed the report.
/// - SIGINT, SIGTERM and SIGHUP are passed on; what the terminal sends reaches the ranks by itself. If this
///   process dies, so do the ranks.
///
/// Returns 0 if all ranks return 0. Else the exit code of the rank that failed first, or 128 + signal.
/// Throws Error if `count` is not in [1, 1024], or if the program cannot be started.
int launch_ranks(int count, const std::vector<std::string>& command);
/// The running program, with the arguments of main().
int launch_ranks(int count, char** argv);

/// Claims the report of an error for this rank. Several ranks may notice one fault: under launch_ranks() one
/// of them gets true, and prints. Elsewhere always true. run_ranks() does it.
bool claim_error_report();

}  // namespace rodeo
