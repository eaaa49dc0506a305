#include "bench/limits.h"

#include <cmath>

#include "bench/gather_limit.h"
#include "bench/timing.h"
#include "core/tensor.h"

namespace rodeo::bench {
namespace {

constexpr int kRepeats = 9;
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

double terabytes_a_second(std::int64_t bytes, double milliseconds) {
  return static_cast<double>(bytes) / milliseconds / 1e9;
}

double measure_copy(Device device) {
  const std::int64_t bytes = device.is_cuda() ? 1024 * kMiB : 128 * kMiB;
  const Tensor from = Tensor::zeros({bytes}, DType::kU8, device), to = from.clone();
  return terabytes_a_second(2 * bytes, median_milliseconds(device, kRepeats, [&] { to.copy_from(from); }));
}

#if RODEO_WITH_CUDA
std::vector<Limits::Gather> measure_gathers(Device device) {
  std::vector<Limits::Gather> out;
  for (const std::int64_t table_bytes : {32 * kMiB, 200 * kMiB, 1536 * kMiB}) {
    const Tensor table = Tensor::full({table_bytes}, 1, DType::kU8, device);
    for (const int row_bytes : {32, 64, 128, 256, 512, 1024}) {
      std::int64_t gathered = 0;
      const double ms =
          median_milliseconds(device, kRepeats, [&] { gathered = gather_random_rows(table, row_bytes); });
      out.push_back({row_bytes, table_bytes, terabytes_a_second(gathered, ms)});
    }
  }
  return out;
}
#endif

}  // namespace

double Limits::gather(std::int64_t row_bytes, std::int64_t table_bytes) const {
  const auto distance = [&](const Gather& g) {
    return std::abs(std::log(static_cast<double>(g.table_bytes) / static_cast<double>(table_bytes)));
  };
  const Gather* best = nullptr;  // each table is measured from short rows to long rows
  for (const Gather& g : gathers)
    if (!best || distance(g) < distance(*best) ||
        (g.table_bytes == best->table_bytes && g.row_bytes <= row_bytes))
      best = &g;
  if (!best) return 0;
  const double share = static_cast<double>(row_bytes) / static_cast<double>(best->row_bytes);
  return share < 1 ? best->tbps * share : best->tbps;
}

Limits measure_limits(Device device) {
  Limits limits;
  limits.copy = measure_copy(device);
#if RODEO_WITH_CUDA
  if (device.is_cuda()) limits.gathers = measure_gathers(device);
#endif
  return limits;
}

}  // namespace rodeo::bench
