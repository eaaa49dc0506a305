// rank_faults FAULT: ranks of which the last one fails in some way while the others wait for it.
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/communicator.h"

namespace {

using rodeo::Tensor;

int work(const rodeo::Communicator& ranks, const std::string& fault) {
  const Tensor x = Tensor::full({1000}, 1);
  ranks.all_reduce(x);
  const bool fails = ranks.rank() == ranks.size() - 1;
  if (fails) {
    if (fault == "throws") rodeo::fail("[spmm] x must be [3, n], got [4, 5]");
    if (fault == "killed") raise(SIGKILL);
    if (fault == "memory") Tensor::empty({std::int64_t{1} << 50});
    if (fault == "exits") std::exit(0);
    if (fault == "exits-3") std::exit(3);
    if (fault == "returns") return 0;
    if (fault == "hangs") pause();
    if (fault == "slow") usleep(1200000);
  }
  if (fault == "differs") {
    ranks.all_reduce(Tensor::zeros({fails ? 6 : 5}));
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
  return x.data<float>()[0] == static_cast<float>(ranks.size() * ranks.size()) ? 0 : 5;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string fault = argc > 1 ? argv[1] : "none";
  rodeo::CommunicatorOptions options;
  if (fault == "hangs") options.timeout_seconds = 1;
  return rodeo::run_ranks([&](const rodeo::Communicator& ranks) { return work(ranks, fault); }, options);
}
