/// Eigenpairs of a small symmetric matrix.
#pragma once

#include <cstddef>
#include <vector>

namespace rodeo {

struct Eigenpairs {
  std::vector<double> values;   // [n] ascending
  std::vector<double> vectors;  // [n, n] orthonormal, in the columns
};

/// Eigenpairs of a symmetric matrix [n, n], row by row, by cyclic Jacobi rotations. O(n^3), on one thread.
Eigenpairs jacobi_eigenpairs(std::vector<double> a, std::size_t n);

}  // namespace rodeo
