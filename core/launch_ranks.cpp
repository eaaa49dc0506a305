#include "core/launch_ranks.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "core/comm/child_ranks.h"
#include "core/comm/launcher.h"
#include "core/comm/rank_environment.h"
#include "core/comm/socket.h"
#include "core/error.h"
#include "core/threads.h"

namespace rodeo {

bool started_as_rank() {
  return comm::read_launch().size > 1;
}

int launch_ranks(int count, const std::vector<std::string>& command) {
  check(count >= 1 && count <= 1024, "[launch_ranks] count must be in [1, 1024], got ", count);
  check(!command.empty(), "[launch_ranks] command is empty");
  const FileDescriptor listener = comm::listen_on(0, /*local=*/true);
  comm::Pipe report;
  check(::write(report.writer.get(), "r", 1) == 1, "[launch_ranks] cannot write to a pipe");

  std::vector<comm::ChildRank> children;
  const std::string meeting = str(comm::port_of(listener)), threads = str(std::max(1, num_threads() / count));
  for (int rank = 0; rank < count; ++rank) {
    comm::ChildRank child;
    child.environment = {{comm::kRankVariable, str(rank)},
                         {comm::kRanksVariable, str(count)},
                         {comm::kMeetingVariable, meeting},
                         {comm::kReportVariable, str(report.reader.get())}};
    if (!std::getenv("OMP_NUM_THREADS")) child.environment.emplace_back("OMP_NUM_THREADS", threads);
    child.inherited = {report.reader.get()};
    if (rank == 0) {
      child.environment.emplace_back(comm::kListenVariable, str(listener.get()));
      child.inherited.push_back(listener.get());
    }
    children.push_back(std::move(child));
  }
  return comm::run_children(command, children, report.reader.get());
}

int launch_ranks(int count, char** argv) {
  std::vector<std::string> command;
  for (char** argument = argv; *argument; ++argument) command.emplace_back(*argument);
  std::error_code none;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", none);
  if (!command.empty() && !none) command[0] = program.string();
  return launch_ranks(count, command);
}

bool claim_error_report() {
  const char* const text = std::getenv(comm::kReportVariable);
  if (!text) return true;
  const int file = std::atoi(text);
  // A pipe of one byte that all ranks share: who reads it may speak.
  char byte = 0;
  const ssize_t got = ::read(file, &byte, 1);
  return got == 1 || (got < 0 && errno != EAGAIN);
}

}  // namespace rodeo
