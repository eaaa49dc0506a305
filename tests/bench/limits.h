/// What the device can do at most, measured in the same run as the kernels.
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

  /// The limit for rows of `row_bytes` from a table of `table_bytes`: as measured for the table whose size is
  /// nearest in ratio, and the longest row that is not longer. Rows below the shortest measured one cost as
  /// much as that one: TB/s in proportion. 0 where nothing was measured.
  double gather(std::int64_t row_bytes, std::int64_t table_bytes) const;
};

Limits measure_limits(Device device);

}  // namespace rodeo::bench
