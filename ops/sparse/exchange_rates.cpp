#include "ops/sparse/exchange_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "core/over_ranks.h"
#include "core/rank_memory.h"
#include "core/stopwatch.h"
#include "ops/sparse/cache_lines.h"

namespace rodeo {
namespace {

/// The fastest of some runs, each of its slowest rank. Disturbances only make runs longer.
double gather_ms(const Communicator& ranks, Device device, std::int64_t bytes) {
  constexpr int kRuns = 7;
  const Tensor mine = Tensor::zeros({bytes / ranks.size()}, DType::kU8, device);
  std::vector<double> times;
  for (int i = 0; i < kRuns + 2; ++i) {
    ranks.barrier();
    Stopwatch stopwatch(device);
    ranks.all_gather(mine);
    if (const double ms = stopwatch.milliseconds(); i >= 2) times.push_back(ms);
  }
  return std::ranges::min(over_ranks(ranks, times, Reduction::kMax));
}

AggregationRates measure(const Communicator& ranks, Device device) {
  const std::int64_t few = device.is_cuda() ? 16 << 20 : 1 << 16, many = 16 * few;
  const double others = (ranks.size() - 1.) / ranks.size();
  return rates_of(others * static_cast<double>(few), gather_ms(ranks, device, few),
                  others * static_cast<double>(many), gather_ms(ranks, device, many));
}

}  // namespace

AggregationRates rates_of(double few, double few_ms, double many, double many_ms) {
  AggregationRates rates;
  // Measurements may be disturbed: a latency is not negative, and more bytes take longer.
  rates.exchange_bytes = (many - few) / std::max(many_ms - few_ms, 0.1 * many_ms);
  rates.exchange_ms = std::max(few_ms - few / rates.exchange_bytes, 0.001);
  return rates;
}

AggregationRates measured_rates(const Communicator& ranks, Device device, const std::string& cache) {
  AggregationRates rates;
  if (ranks.size() == 1) return rates;
  const int hosts = ranks_of_host(ranks).hosts;
  const CacheLines lines(cache.empty() ? "" : cache + "/exchange.txt", "rodeo exchange rates, format 1");
  const std::string key =
      str(describe(device), ", ", ranks.size(), " ranks over ", ranks.backend(), ", ", hosts, " hosts");
  std::vector<double> known{0, 0};
  if (ranks.rank() == 0) {
    std::istringstream kept(lines.find(key).value_or(""));
    if (!(kept >> known[0] >> known[1]) || known[0] <= 0 || known[1] <= 0) known = {0, 0};
  }
  const Tensor sent = Tensor::from(known);
  ranks.broadcast(sent);
  known = sent.to_vector<double>();
  if (known[0] == 0) {
    const AggregationRates measured = measure(ranks, device);
    known = {measured.exchange_ms, measured.exchange_bytes};
    if (ranks.rank() == 0) lines.keep(key, fmt::format("{}\t{}", known[0], known[1]));
  }
  rates.exchange_ms = known[0], rates.exchange_bytes = known[1];
  if (hosts > 1) rates.network_bytes = rates.exchange_bytes;
  return rates;
}

}  // namespace rodeo
