/// Which ranks a launcher (launch_ranks(), mpirun, srun, torchrun) started, read from the environment.
#pragma once

#include <functional>
#include <string>

#include "core/communicator_types.h"

namespace rodeo::comm {

/// Where the ranks meet: rank 0 listens on the first free one of `num_ports` ports from `port`.
struct Meeting {
  std::string host;
  int port = 0;
  int num_ports = 1;
  std::string key = {};  // equal on all ranks of a run; other runs at the same place have another one
  int listen_file = -1;  // rank 0: a socket that listens already
};

struct Launch {
  std::string launcher;  // "rodeo", "mpirun", "srun" or "torchrun"; empty: the program was started alone
  int rank = 0;
  int size = 1;
  std::string mpi_obstacle = {};  // why MPI cannot join these ranks, and what to do; empty: it can
  int local_rank = 0;             // among the ranks of this host
  Meeting meeting = {};
  std::string tcp_obstacle = {};  // why `meeting` is not known, and what to do; empty: it is
};

/// Value of an environment variable; null if it is not set.
using Environment = std::function<const char*(const char* name)>;

/// Throws Error if variables contradict each other: not a number, or a rank that is not in [0, size).
Launch read_launch(const Environment& environment);
Launch read_launch();

/// The first host of Slurm's list: "n[03-05,9],m1" is n03.
std::string first_host(const std::string& list);

/// The backend that kAuto stands for. Throws Error if `wanted` cannot join the ranks. `with_mpi`: whether
/// this build has MPI.
CommBackend choose_backend(CommBackend wanted, const Launch& launch, bool with_mpi);

}  // namespace rodeo::comm
