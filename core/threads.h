/// CPU threads of operators.
#pragma once

namespace rodeo {

/// Number of threads that operators on the CPU use when the calling thread runs them. At first
/// OMP_NUM_THREADS, else the number of processors that the process may use.
int num_threads();

/// Sets num_threads() of the calling thread. Sums over rows may have other last bits with another number.
/// Throws Error if `count` is not in [1, 1024].
void set_num_threads(int count);

/// Lets idle OpenMP threads sleep after about 20 microseconds. By default they spin for milliseconds: where
/// other programs run, that takes the processor from the very thread that they wait for. Call it first in
/// main(): OpenMP reads its settings when it is loaded, so the process is restarted once, with the same
/// arguments, OMP_WAIT_POLICY=passive and GOMP_SPINCOUNT=1000. Does nothing if there is one thread, or if one
/// of OMP_WAIT_POLICY, GOMP_SPINCOUNT and KMP_BLOCKTIME is set. All commands of Rodeo call it.
void limit_spinning(char** argv);

}  // namespace rodeo
