/// Sparse matrix times vector.
#pragma once

#include <iosfwd>
#include <string_view>

#include "core/adjacency.h"
#include "core/variable.h"

namespace rodeo {

enum class SpmvAlgorithm {
  kAuto,    // chosen from the row lengths: kVector, or kRode where one row outlasts all others
  kVector,  // CSR-vector: a group of threads per row (Bell & Garland, SC 2009); good on even rows
  kRode,    // rows decomposed into block and residual parts, as spmm.h's kRode; any skew. Keeps RoDe's plan
  kSegmented,  // segmented reduction over the row of every edge (see segment_sum.h); any skew. Keeps 4 bytes
               // an edge on the graph from its first use on, and takes at most 2^31 - 1 rows
};
std::string_view name(SpmvAlgorithm algorithm);
std::ostream& operator<<(std::ostream& out, SpmvAlgorithm algorithm);
/// "auto", "vector", "rode" or "segmented"; throws Error for anything else, naming the choices.
SpmvAlgorithm parse_spmv_algorithm(std::string_view text);

struct SpmvOptions {
  SpmvAlgorithm algorithm = SpmvAlgorithm::kAuto;
};

/// Sparse matrix-vector product  y = A x.
///   weight  [edges]  in adj's edge order; omit it for an unweighted sum
///   x       [cols]   f64, f32, bf16 or f16, same dtype and device as weight and adj
///   returns [rows]   rows without edges are zero; 16-bit types are summed in f32 and rounded once
/// Gradients: dx = A^T dy,  dweight[e] = dy[row(e)] x[col(e)].
/// Deterministic: same inputs, same device, same bits, with every algorithm. The algorithms add in
/// different orders.
/// Throws rodeo::Error when shapes, dtypes or devices disagree.
Tensor spmv(const Adjacency& adj, const Tensor& x, const SpmvOptions& options = {});
Tensor spmv(const Adjacency& adj, const Tensor& weight, const Tensor& x, const SpmvOptions& options = {});
Variable spmv(const Adjacency& adj, const Variable& x, const SpmvOptions& options = {});
Variable spmv(const Adjacency& adj, const Variable& weight, const Variable& x,
              const SpmvOptions& options = {});

/// What kAuto stands for on this graph. The CPU hands rows to threads as they become free: always kVector.
SpmvAlgorithm choose_spmv_algorithm(const Adjacency& adj);

}  // namespace rodeo
