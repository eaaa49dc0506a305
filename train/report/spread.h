/// Mean and deviation of the results of several runs.
#pragma once

#include <string>
#include <vector>

namespace rodeo {

/// deviation: of a sample, n - 1; 0 for fewer than two values.
struct Spread {
  double mean = 0, deviation = 0;
};
Spread spread(const std::vector<double>& values);

/// "0.8150 +- 0.0070"; of a single value "0.8150".
std::string format_spread(const std::vector<double>& values);

}  // namespace rodeo
