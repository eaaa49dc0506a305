#include "train/report/spread.h"

#include <fmt/format.h>

#include <cmath>

namespace rodeo {

Spread spread(const std::vector<double>& values) {
  Spread of;
  const auto n = static_cast<double>(values.size());
  for (const double v : values) of.mean += v / n;
  for (const double v : values) of.deviation += (v - of.mean) * (v - of.mean);
  of.deviation = values.size() > 1 ? std::sqrt(of.deviation / (n - 1)) : 0;
  return of;
}

std::string format_spread(const std::vector<double>& values) {
  const Spread of = spread(values);
  return values.size() > 1 ? fmt::format("{:.4f} +- {:.4f}", of.mean, of.deviation)
                           : fmt::format("{:.4f}", of.mean);
}

}  // namespace rodeo
