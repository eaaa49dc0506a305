#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>

#include "core/comm/launcher.h"
#include "core/comm/tcp_transport.h"
#include "core/communicator.h"
#include "core/launch_ranks.h"
#include "core/quoting.h"

namespace rodeo {
namespace {

/// Several ranks may notice one fault. The lowest one speaks first, and ends the others before they do.
void wait_for_lower_ranks(int rank) {
  std::this_thread::sleep_for(std::chrono::milliseconds(200) * std::min(rank, 50));
}

/// Prints, unless another rank has reported the fault.
void print_error(int rank, int size, const char* text) {
  wait_for_lower_ranks(rank);
  comm::end_if_aborted();
  if (!claim_error_report()) return;
  const std::string who = size > 1 ? str("rank ", rank, " of ", size, ": ") : std::string();
  std::fprintf(stderr, "error: %s%s\n", who.c_str(), printable(text).c_str());
  std::fflush(stderr);
}

}  // namespace

int run_ranks(const std::function<int(const Communicator&)>& body, const CommunicatorOptions& options) {
  comm::Launch launch;
  Communicator communicator;
  try {
    launch = comm::read_launch();
    communicator = Communicator(options);
  } catch (const std::exception& error) {
    print_error(launch.rank, launch.size, error.what());
    return 1;
  }
  const int rank = communicator.rank(), size = communicator.size();
  const auto stop = [&](const char* text) {
    print_error(rank, size, text);
    if (size > 1) communicator.abort();
    return 1;
  };
  try {
    return body(communicator);
  } catch (const std::exception& error) {
    return stop(error.what());
  } catch (...) {
    return stop("unknown exception");
  }
}

}  // namespace rodeo
