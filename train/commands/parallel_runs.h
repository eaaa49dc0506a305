/// Threads that take runs from a list.
#pragma once

#include <cstddef>
#include <functional>

namespace rodeo {

/// What the runs of one command have to do with each other.
struct RunHooks {
  std::function<bool()> stop;      // true: end after this epoch, because another run failed
  std::function<void(int)> epoch;  // to be called after each epoch, with its number
};

/// Calls run(i, hooks) for i = 0 .. count - 1 by `parallel` threads, each with set_num_threads(threads); by
/// the calling thread if parallel is 1. The runs after the first begin when it has finished two epochs or has
/// ended. The first exception makes hooks.stop() true for the others, prevents further runs, and is thrown
/// when all threads have ended.
void run_in_parallel(std::size_t count, int parallel, int threads,
                     const std::function<void(std::size_t, const RunHooks&)>& run);

}  // namespace rodeo
