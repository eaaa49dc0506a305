/// Which ranks a launcher (mpirun, srun, torchrun) started, read from the environment.
#pragma once

#include <functional>
#include <string>

#include "core/communicator_types.h"

namespace rodeo::comm {

struct Launch {
  std::string launcher;  // "mpirun", "srun" or "torchrun"; empty: the program was started alone
  int rank = 0;
  int size = 1;
  std::string mpi_obstacle;  // why MPI cannot join these ranks, and what to do; empty: it can
};

/// Value of an environment variable; null if it is not set.
using Environment = std::function<const char*(const char* name)>;

/// Throws Error if variables contradict each other: not a number, or a rank that is not in [0, size).
Launch read_launch(const Environment& environment);
Launch read_launch();

/// The backend that kAuto stands for. Throws Error if `wanted` cannot join the ranks. `with_mpi`: whether
/// this build has MPI.
CommBackend choose_backend(CommBackend wanted, const Launch& launch, bool with_mpi);

}  // namespace rodeo::comm
