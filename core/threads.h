/// CPU threads of operators.
#pragma once

namespace rodeo {

/// Number of threads that operators on the CPU use when the calling thread runs them. At first
/// OMP_NUM_THREADS, else the number of processors that the process may use (see configure_threads()).
int num_threads();

/// Sets num_threads() of the calling thread. Sums over rows may have other last bits with another number.
/// Throws Error if `count` is not in [1, 1024].
void set_num_threads(int count);

/// Fits OpenMP to the machine. Call it first in main(); all commands of Rodeo do.
///   - Idle threads sleep after about 20 microseconds. By default they spin for milliseconds: where other
///     programs run, that takes the processor from the very thread that they wait for. OpenMP reads its
///     settings when it is loaded, so the process is restarted once, with the same arguments,
///     OMP_WAIT_POLICY=passive and GOMP_SPINCOUNT=1000. Not if there is one thread, or if one of
///     OMP_WAIT_POLICY, GOMP_SPINCOUNT and KMP_BLOCKTIME is set.
///   - OMP_NUM_THREADS is at most 1024: OpenMP crashes where it is far above.
///   - Where ulimit -v has no room for the threads, their heaps and their buffers of OpenBLAS, there are
///     fewer, which stderr says: OpenMP ends the process if it cannot start one, and OpenBLAS waits for
///     memory.
///   - A file that becomes longer than ulimit -f allows is an Error, and no signal that ends the process.
///   - Standard files that are closed are opened, so that no output file gets the messages.
///   - num_threads() of the calling thread is at most the processors that the control groups of a container
///     or batch job allow (docker --cpus). Not if OMP_NUM_THREADS is set.
void configure_threads(char** argv);

}  // namespace rodeo
