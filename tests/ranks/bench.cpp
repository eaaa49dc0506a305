// rank_bench [--cuda]: times of collectives between ranks. Each is verified first.
//   rank_launch 2 rank_bench --cuda
// A time is the median of 21 calls that all ranks begin together, of the slowest rank. GB/s counts the bytes
// that a rank receives. On GPUs also of a captured CUDA graph, whose replay needs no agreement of the hosts.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string_view>
#include <vector>

#include "core/communicator.h"
#include "core/cuda_graph.h"
#include "core/device.h"
#include "core/threads.h"

namespace {

using rodeo::Communicator;
using rodeo::Device;
using rodeo::DType;
using rodeo::Tensor;

constexpr int kRuns = 21, kCallsInGraph = 10;

double median_ms(const Communicator& ranks, Device device, int calls, const std::function<void()>& run) {
  std::vector<double> times;
  for (int i = 0; i < kRuns + 2; ++i) {
    rodeo::synchronize(device);
    ranks.barrier();
    const auto begin = std::chrono::steady_clock::now();
    run();
    rodeo::synchronize(device);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    if (i >= 2) times.push_back(time.count() / calls);
  }
  std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
  const Tensor slowest = Tensor::from(std::vector<double>{times[kRuns / 2]});
  ranks.all_reduce(slowest, rodeo::Reduction::kMax);
  return slowest.item();
}

struct Case {
  const char* name;
  double bytes;  // that a rank receives
  std::function<Tensor()> call;
  double want;  // each element of the result
};

void run(const Communicator& ranks, Device device, std::int64_t rows, std::int64_t width, DType dtype) {
  const int size = ranks.size();
  const std::int64_t share = rows / size;
  const Tensor mine = Tensor::full({share, width}, 3, dtype, device);
  const Tensor whole = Tensor::full({share * size, width}, 1, dtype, device);
  const Tensor sum = Tensor::full({share * size, width}, 0, dtype, device);
  const double bytes = static_cast<double>(whole.nbytes()), others = bytes * (size - 1) / size;
  const std::vector<Case> cases = {
      {"all_gather", others, [&] { return ranks.all_gather(mine); }, 3},
      {"reduce_scatter", others, [&] { return ranks.reduce_scatter(whole); }, static_cast<double>(size)},
      {"all_to_all of a share", others / size,
       [&] { return ranks.all_to_all(mine.slice(0, share / size * size)); }, 3},
      {"all_reduce", 2 * others,
       [&] {
         ranks.all_reduce(sum);
         return sum;
       },
       0},
      {"broadcast", bytes,
       [&] {
         ranks.broadcast(whole);
         return whole;
       },
       1}};
  for (const Case& c : cases) {
    for (const double value : c.call().to(rodeo::kCpu).to(DType::kF64).to_vector<double>())
      rodeo::check(value == c.want, c.name, ": got ", value, " instead of ", c.want);
    const double ms = median_ms(ranks, device, 1, [&] { c.call(); });
    double replayed = 0;
    if (device.is_cuda()) {
      const rodeo::CudaGraph graph = rodeo::CudaGraph::capture(device, [&] {
        for (int i = 0; i < kCallsInGraph; ++i) c.call();
      });
      replayed = median_ms(ranks, device, kCallsInGraph, [&] { graph.launch(); });
    }
    if (ranks.rank() > 0) continue;
    std::printf("%-22s %9lld %6lld  %-5s %10.4f %9s %8.1f\n", c.name, static_cast<long long>(share * size),
                static_cast<long long>(width), rodeo::str(dtype).c_str(), ms,
                device.is_cuda() ? rodeo::str(replayed).substr(0, 7).c_str() : "-",
                c.bytes / (device.is_cuda() ? replayed : ms) * 1e-6);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool cuda = argc > 1 && std::string_view(argv[1]) == "--cuda";
  return rodeo::run_ranks([cuda](const Communicator& ranks) {
    const Device device = cuda ? ranks.gpu() : rodeo::kCpu;
    if (ranks.rank() == 0)
      std::printf("%d ranks, %s, %s\n%-22s %9s %6s  %-5s %10s %9s %8s\n", ranks.size(),
                  std::string(ranks.backend()).c_str(), rodeo::describe(device).c_str(), "collective", "rows",
                  "width", "dtype", "call, ms", "graph, ms", "GB/s");
    run(ranks, device, 200, 128, DType::kF32);  // 100 KB
    if (cuda) {
      run(ranks, device, 233000, 128, DType::kF32);
      run(ranks, device, 233000, 128, DType::kBF16);
      run(ranks, device, 2450000, 128, DType::kF32);
    } else {
      run(ranks, device, 20000, 128, DType::kF32);
    }
    return 0;
  });
}
