// rank_faults FAULT [--cuda]: ranks of which the last one fails in some way while the others wait for it.
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/communicator.h"
#include "core/cuda_graph.h"
#include "core/device.h"

namespace {

using rodeo::Tensor;

bool stays = false;  // in the end of its process

int work(const rodeo::Communicator& ranks, const std::string& fault, bool cuda) {
  const rodeo::Device device = cuda ? ranks.gpu() : rodeo::kCpu;
  const Tensor x = Tensor::full({1000}, 1, rodeo::DType::kF32, device);
  rodeo::CudaGraph graph;
  ranks.all_reduce(x);
  if (fault.rfind("replay-", 0) == 0) {
    graph = rodeo::CudaGraph::capture(device, [&] { ranks.all_reduce(x); });
    graph.launch();
    rodeo::synchronize(device);
    ranks.barrier();
  }
  const bool fails = ranks.rank() == ranks.size() - 1;
  if (fails) {
    if (fault == "replay-throws") rodeo::fail("[spmm] x must be [3, n], got [4, 5]");
    if (fault == "replay-killed") raise(SIGKILL);
    if (fault == "replay-hangs") pause();
    if (fault == "throws") rodeo::fail("[spmm] x must be [3, n], got [4, 5]");
    if (fault == "killed") raise(SIGKILL);
    if (fault == "memory") Tensor::empty({std::int64_t{1} << 50}, rodeo::DType::kF32, device);
    if (fault == "aborts-7") ranks.abort(7);
    if (fault == "exits") std::exit(0);
    if (fault == "stays") stays = true, std::exit(0);
    if (fault == "exits-3") std::exit(3);
    if (fault == "returns") return 0;
    if (fault == "hangs") pause();
    if (fault == "slow") usleep(1200000);
    if (fault == "reads") sleep(3);
    if (fault == "stops") raise(SIGSTOP);
  }
  if (graph.defined()) {  // nothing but the GPU waits for the failed rank
    graph.launch();
    rodeo::synchronize(device);
    return 0;
  }
  if (fault == "differs") {
    ranks.all_reduce(Tensor::zeros({fails ? 6 : 5}, rodeo::DType::kF32, device));
  } else if (fault == "catches") {  // the program handles the errors, and goes on alone
    try {
      if (fails) rodeo::fail("not for the others");
      ranks.barrier();
    } catch (const rodeo::Error& error) {
      std::printf("caught by rank %d: %s\n", ranks.rank(), error.what());
      try {
        if (!fails) ranks.barrier();
      } catch (const rodeo::Error& again) {
        std::printf("again: %s\n", again.what());
      }
      return fails ? 0 : 4;
    }
  } else {
    ranks.all_reduce(x);
  }
  return x.to_vector<float>()[0] == static_cast<float>(ranks.size() * ranks.size()) ? 0 : 5;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string fault = argc > 1 ? argv[1] : "none";
  const bool cuda = argc > 2 && std::string(argv[2]) == "--cuda";
  rodeo::CommunicatorOptions options;
  if (fault == "hangs") options.timeout_seconds = cuda ? 10 : 1;
  if (fault == "stays") std::atexit([] { stays ? pause() : 0; });  // after what the ranks do at exit
  if (fault == "reads" || fault == "stops" || fault == "stays")
    options.timeout_seconds = 50, options.silence_seconds = 1;
  if (fault == "replay-hangs") options.timeout_seconds = 10;
  return rodeo::run_ranks([&](const rodeo::Communicator& ranks) { return work(ranks, fault, cuda); },
                          options);
}
