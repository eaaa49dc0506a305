/// Synthetic twins of the matrices that the source texts name: the same rows, columns and nonzeros, and the
/// same mean, standard deviation and maximum of the row lengths. Positions and values are random.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/adjacency.h"

namespace rodeo::bench {

struct Twin {
  std::string name;
  std::int64_t rows, cols, nonzeros;
  double deviation;      // of the row lengths
  std::int64_t longest;  // row
  bool banded;           // near the diagonal; else anywhere
  std::string remark;    // what is not known of the original
};
const std::vector<Twin>& all_twins();
/// "shyy41, mip1, ..."
std::string twin_names();
/// Throws Error that lists the names.
const Twin& find_twin(const std::string& name);
/// A twin of the part of a matrix: rows, columns and nonzeros are divided by `part`, row lengths keep their
/// distribution as far as the columns allow.
Twin shrink(Twin twin, std::int64_t part);

/// Row lengths in random order. Their sum and their maximum are those of the twin; they follow a lognormal
/// distribution whose parameter is fitted to the standard deviation.
std::vector<std::int64_t> twin_lengths(const Twin& twin);

/// A matrix whose row i has lengths[i] <= cols distinct columns in ascending order: at random distances
/// within twice its length around the diagonal (banded), or anywhere. On the CPU. A function of its arguments
/// only.
Adjacency random_matrix(const std::vector<std::int64_t>& lengths, std::int64_t cols, bool banded);

}  // namespace rodeo::bench
