#include "bench/gcn_sums.h"

namespace rodeo::bench {

std::vector<GcnSum> gcn_sums(std::int64_t features, std::int64_t hidden, std::int64_t classes,
                             std::int64_t layers, FirstInput first) {
  std::vector<GcnSum> sums;
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::int64_t in = i == 0 ? features : hidden, out = i + 1 == layers ? classes : hidden;
    const bool learns = i > 0;  // X: its gradient is a sum, too
    if (!learns && first == FirstInput::kKept) continue;
    const bool sums_first =
        (learns || first != FirstInput::kSparse) && in < (learns ? out : 2 * out);  // (A X) W
    sums.push_back({sums_first ? in : out, sums_first && !learns});
    if (learns || !sums_first) sums.push_back(sums.back());
  }
  return sums;
}

}  // namespace rodeo::bench
