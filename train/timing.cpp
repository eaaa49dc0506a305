#include "train/timing.h"

#include <algorithm>
#include <numeric>

namespace rodeo {

Statistics summarize(std::vector<double> values) {
  const std::size_t n = values.size();
  if (n == 0) return {};
  std::sort(values.begin(), values.end());
  return {.count = n,
          .median = (values[(n - 1) / 2] + values[n / 2]) / 2,
          .mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(n),
          .p95 = values[(95 * n + 99) / 100 - 1]};
}

}  // namespace rodeo
