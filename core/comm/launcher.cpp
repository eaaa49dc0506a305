#include "core/comm/launcher.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "core/error.h"
#include "core/quoting.h"

namespace rodeo::comm {
namespace {

int read_number(const Environment& environment, const char* name) {
  const char* text = environment(name);
  int value = -1;
  const char* end = text ? text + std::strlen(text) : nullptr;
  const bool ok = text && std::from_chars(text, end, value) == std::from_chars_result{end, std::errc{}};
  check(ok && value >= 0, "[communicator] the environment variable ", name, " must be a number, got ",
        text ? printable(text) : "nothing");
  return value;
}

Launch read(const Environment& environment, const char* launcher, const char* rank, const char* size) {
  Launch launch{launcher, read_number(environment, rank), read_number(environment, size), {}};
  check(launch.rank < launch.size, "[communicator] ", rank, " is ", launch.rank, ", but ", size, " is ",
        launch.size);
  return launch;
}

}  // namespace

Launch read_launch(const Environment& environment) {
  const auto has = [&](const char* name) { return environment(name) != nullptr; };
  // mpirun comes first: inside a Slurm job it also passes the variables of the job on.
  if (has("OMPI_COMM_WORLD_SIZE"))
    return read(environment, "mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
  // SLURM_NTASKS is also set in a batch script, which is one process. SLURM_STEP_NUM_TASKS is srun's.
  if (has("SLURM_STEP_NUM_TASKS") && has("SLURM_PROCID")) {
    Launch launch = read(environment, "srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS");
    if (!has("PMIX_RANK") && !has("PMI_RANK") && !has("PMI_FD"))
      launch.mpi_obstacle = "srun told them nothing of each other: add --mpi=pmix to srun, or use mpirun";
    return launch;
  }
  if (has("PMI_SIZE") && has("PMI_RANK")) return read(environment, "mpirun", "PMI_RANK", "PMI_SIZE");
  if (has("RANK") && has("WORLD_SIZE") && has("MASTER_ADDR")) {
    Launch launch = read(environment, "torchrun", "RANK", "WORLD_SIZE");
    launch.mpi_obstacle =
        str("MPI cannot join processes of torchrun: start them with mpirun -np ", launch.size);
    return launch;
  }
  return {};
}

Launch read_launch() {
  return read_launch([](const char* name) { return std::getenv(name); });
}

CommBackend choose_backend(CommBackend wanted, const Launch& launch, bool with_mpi) {
  if (wanted == CommBackend::kSelf) return wanted;
  if (launch.launcher.empty()) {
    check(
        wanted == CommBackend::kAuto,
        "[communicator] no launcher started this program: start it with mpirun -np 2 PROGRAM for two ranks");
    return CommBackend::kSelf;
  }
  if (launch.size == 1 && wanted == CommBackend::kAuto) return CommBackend::kSelf;
  const std::string started =
      str("[communicator] ", launch.launcher, " started ", launch.size, " ranks, but ");
  check(launch.mpi_obstacle.empty(), started, launch.mpi_obstacle);
  check(with_mpi, started, "this build has no MPI: install libopenmpi-dev and configure with -DRODEO_MPI=ON");
  return CommBackend::kMpi;
}

}  // namespace rodeo::comm
