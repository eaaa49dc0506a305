/// Bandwidth limits of the device, measured in the same run as the kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "core/device.h"

namespace rodeo::bench {

struct Limits {
  /// Reads and writes of a large copy, in TB/s.
  double copy = 0;

  /// Reads of random rows from a table, in TB/s of gathered bytes. Empty on the CPU.
  struct Gather {
    std::int64_t row_bytes, table_bytes;
    double tbps;
  };
  std::vector<Gather> gathers;

  /// The gather limit for rows of `row_bytes` from a table of `table_bytes`: the measurement of the table
  /// whose size is nearest in ratio, and of the longest measured row that is not longer than `row_bytes`.
  /// Rows shorter than all measured ones take the time of the shortest, so their TB/s are scaled down. 0 if
  /// nothing was measured.
  double gather(std::int64_t row_bytes, std::int64_t table_bytes) const;
};

Limits measure_limits(Device device);

}  // namespace rodeo::bench
