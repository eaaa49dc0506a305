/// A product or a strided batch of products by cuBLASLt, on the context's stream.
#pragma once

#include "ops/kernels/dense.h"

namespace rodeo::kernels::cuda {

/// Row-major matrices: `ld` elements from row to row, `stride` from one matrix of the batch to the next.
struct LtMatrix {
  void* data;
  std::int64_t ld;
  std::int64_t stride = 0;
};
struct LtOperands {
  LtMatrix a, b, c;
  DType dtype, out;  // of a and b; of c, which may be f32 beside 16-bit factors
  std::int64_t batch = 1;
};

/// c = op(a) op(b), or c + op(a) op(b) where it `adds`. No size is 0.
void lt_matmul(const LtOperands& in, bool ta, bool tb, const MatmulSizes& sizes, bool adds, Device device);

}  // namespace rodeo::kernels::cuda
