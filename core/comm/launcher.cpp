#include "core/comm/launcher.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "core/comm/rank_environment.h"
#include "core/error.h"
#include "core/quoting.h"

namespace rodeo::comm {
namespace {

constexpr int kPorts = 16;                         // that are tried
constexpr const char* kThisHost = "localhost";     // ranks meet at a local socket, not at a port
constexpr const char* kKeyVariable = "RODEO_KEY";  // of the user: a secret of ranks on several hosts
constexpr const char* kBuildMpi =
    "this build has no MPI: install libopenmpi-dev and configure with -DRODEO_MPI=ON";

bool parse(std::string_view text, int& value) {
  const char* const end = text.data() + text.size();
  return std::from_chars(text.data(), end, value) == std::from_chars_result{end, std::errc{}} && value >= 0;
}

/// The environment with errors that name the variable.
class Variables {
 public:
  explicit Variables(const Environment& environment) : environment_(environment) {}

  bool has(const char* name) const { return environment_(name) != nullptr; }
  std::string text(const char* name) const {
    const char* value = environment_(name);
    return value ? value : "";
  }
  int number(const char* name) const {
    int value = -1;
    check(has(name) && parse(text(name), value), "[communicator] the environment variable ", name,
          " must be a number, got ", has(name) ? printable(text(name)) : "nothing");
    return value;
  }
  int number_or(const char* name, int otherwise) const { return has(name) ? number(name) : otherwise; }

 private:
  const Environment& environment_;
};

Launch read(const Variables& in, const char* launcher, const char* rank, const char* size,
            const char* local_rank) {
  Launch launch;
  launch.launcher = launcher;
  launch.rank = in.number(rank);
  launch.size = in.number(size);
  check(launch.rank < launch.size, "[communicator] ", rank, " is ", launch.rank, ", but ", size, " is ",
        launch.size);
  launch.local_rank = in.number_or(local_rank, 0);
  return launch;
}

/// A port in [20000, 30000) that a run is likely to have for itself: below the ports of outgoing connections.
int port_of(const std::string& key) {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return static_cast<int>(20000 + hash % 10000);
}

/// MASTER_ADDR and MASTER_PORT, where they are set.
void read_master(const Variables& in, Meeting& meeting) {
  if (!in.has("MASTER_ADDR")) return;
  meeting.host = in.text("MASTER_ADDR");
  if (!in.has("MASTER_PORT")) return;
  meeting.port = in.number("MASTER_PORT");
  check(meeting.port >= 1 && meeting.port <= 65535 - kPorts,
        "[communicator] the environment variable MASTER_PORT must be in [1, ", 65535 - kPorts, "], got ",
        meeting.port);
}

Launch read_rodeo(const Variables& in) {
  Launch launch = read(in, "rodeo", kRankVariable, kRanksVariable, kRankVariable);
  launch.mpi_obstacle = str("MPI cannot join them: start them with mpirun -np ", launch.size);
  launch.meeting = {.host = kThisHost, .port = in.number(kMeetingVariable)};
  launch.meeting.listen_file = in.number_or(kListenVariable, -1);
  return launch;
}

Launch read_mpirun(const Variables& in) {
  const bool ompi = in.has("OMPI_COMM_WORLD_SIZE");
  Launch launch =
      ompi ? read(in, "mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK")
           : read(in, "mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID");
  launch.meeting.key = str("mpirun ", in.text("PMIX_NAMESPACE"), in.text("PMI_KVSNAME"));
  launch.meeting.port = port_of(launch.meeting.key);
  launch.meeting.num_ports = kPorts;
  const char* const local_size = ompi ? "OMPI_COMM_WORLD_LOCAL_SIZE" : "MPI_LOCALNRANKS";
  read_master(in, launch.meeting);
  if (in.number_or(local_size, 0) == launch.size) launch.meeting.host = kThisHost;
  if (launch.meeting.host.empty())
    launch.tcp_obstacle = "without MPI the host of rank 0 is not known: set MASTER_ADDR to it for all ranks";
  return launch;
}

Launch read_srun(const Variables& in) {
  Launch launch = read(in, "srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID");
  if (!in.has("PMIX_RANK") && !in.has("PMI_RANK") && !in.has("PMI_FD"))
    launch.mpi_obstacle = "srun told them nothing of each other: add --mpi=pmix to srun, or use mpirun";
  launch.meeting.host = first_host(in.text("SLURM_STEP_NODELIST"));
  launch.meeting.key = str("srun ", in.text("SLURM_JOB_ID"), ".", in.text("SLURM_STEP_ID"));
  launch.meeting.port = port_of(launch.meeting.key);
  launch.meeting.num_ports = kPorts;
  read_master(in, launch.meeting);
  if (in.number_or("SLURM_STEP_NUM_NODES", 0) == 1) launch.meeting.host = kThisHost;
  if (launch.meeting.host.empty())
    launch.tcp_obstacle = "SLURM_STEP_NODELIST is not set: set MASTER_ADDR to the host of rank 0";
  return launch;
}

Launch read_torchrun(const Variables& in) {
  Launch launch = read(in, "torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK");
  launch.mpi_obstacle =
      str("MPI cannot join processes of torchrun: start them with mpirun -np ", launch.size);
  launch.meeting.port = 29500;
  read_master(in, launch.meeting);
  // torchrun itself listens on MASTER_PORT.
  if (in.has("TORCHELASTIC_RUN_ID")) ++launch.meeting.port;
  launch.meeting.num_ports = kPorts;
  if (in.number_or("LOCAL_WORLD_SIZE", 0) == launch.size) launch.meeting.host = kThisHost;
  launch.meeting.key =
      str("torchrun ", in.text("TORCHELASTIC_RUN_ID"), " ", in.text("TORCHELASTIC_RESTART_COUNT"));
  return launch;
}

}  // namespace

std::string first_host(const std::string& list) {
  const std::size_t bracket = list.find('[');
  std::string host = list.substr(0, std::min(bracket, list.find(',')));
  if (bracket == std::string::npos || host.size() < bracket) return host;
  const std::size_t end = list.find_first_of("-,]", bracket);
  if (end == std::string::npos) return {};
  host += list.substr(bracket + 1, end - bracket - 1);
  const std::size_t closing = list.find(']', bracket);
  if (closing != std::string::npos) host += list.substr(closing + 1, list.find(',', closing) - closing - 1);
  return host;
}

namespace {

Launch read_any(const Variables& in) {
  // The innermost launcher comes first: a rank of launch_ranks() may have been started in a job of mpirun,
  // and mpirun in a job of Slurm.
  if (in.has(kRankVariable)) return read_rodeo(in);
  if (in.has("OMPI_COMM_WORLD_SIZE")) return read_mpirun(in);
  // SLURM_NTASKS is also set in a batch script, which is one process. SLURM_STEP_NUM_TASKS is srun's.
  if (in.has("SLURM_STEP_NUM_TASKS") && in.has("SLURM_PROCID")) return read_srun(in);
  if (in.has("PMI_SIZE") && in.has("PMI_RANK")) return read_mpirun(in);
  if (in.has("RANK") && in.has("WORLD_SIZE") && in.has("MASTER_ADDR")) return read_torchrun(in);
  return {};
}

}  // namespace

Launch read_launch(const Environment& environment) {
  const Variables in(environment);
  Launch launch = read_any(in);
  launch.meeting.key += in.text(kKeyVariable);
  return launch;
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
  const std::string no_mpi = with_mpi ? launch.mpi_obstacle : kBuildMpi;
  if (wanted == CommBackend::kMpi) check(no_mpi.empty(), started, no_mpi);
  if (wanted == CommBackend::kMpi || (wanted == CommBackend::kAuto && no_mpi.empty()))
    return CommBackend::kMpi;
  if (wanted == CommBackend::kAuto && !launch.tcp_obstacle.empty() && !no_mpi.empty())
    fail(started, no_mpi, ". ", launch.tcp_obstacle);
  check(launch.tcp_obstacle.empty(), started, launch.tcp_obstacle);
  return CommBackend::kTcp;
}

}  // namespace rodeo::comm
