/// The graphs and widths on which every sparse operator is tested and timed.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "core/adjacency.h"

namespace rodeo::test {

struct SparseCase {
  std::string name;
  std::function<Adjacency()> make;  // on the CPU
};
std::ostream& operator<<(std::ostream& out, const SparseCase& sparse_case);

/// No edges, empty rows, one column, row lengths around every tile size, a hub, rectangular, duplicates,
/// unsorted, ...
const std::vector<SparseCase>& sparse_cases();

/// A graph whose row i has lengths[i] edges to pseudo-random columns, unsorted and possibly repeated.
Adjacency graph_with_lengths(const std::vector<std::int64_t>& lengths, std::int64_t cols,
                             std::uint64_t seed = 1);

inline const std::vector<std::int64_t>& widths() {
  static const std::vector<std::int64_t> widths{1, 3, 7, 8, 16, 31, 32, 33, 41, 47, 64, 100, 128, 256, 602};
  return widths;
}

/// Whether the CPU leaves a problem out. Its kernels take any number of columns by the same strips and any
/// row by the same loop, where a GPU has tiles for each width and each size of a graph.
inline bool is_for_a_gpu(Device device, std::int64_t edges, std::int64_t columns) {
  return !device.is_cuda() && edges > 2000 && columns > 64;
}

/// The graph of an HDF5 file, on the CPU.
Adjacency load_topology(const std::string& path);

/// The path of a file of real data in $RODEO_SHARED_DATA, by default ../shared/data beside the sources. Empty
/// if the file does not exist.
std::string shared_data(const std::string& file);

}  // namespace rodeo::test
