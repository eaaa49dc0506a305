#include "ops/sddmm.h"

#include "ops/checks.h"
#include "ops/convert.h"
#include "ops/kernels.h"
#include "ops/spmm.h"

namespace rodeo {

Tensor sddmm(const Adjacency& adj, const Tensor& b1, const Tensor& b2) {
  check_matrix("sddmm", "b1", b1);
  check_matrix("sddmm", "b2", b2);
  check_alike("sddmm", "b1", b1, "b2", b2);
  check_on_device_of("sddmm", adj, "b1", b1);
  check_shape("sddmm", "b1", b1, {adj.rows(), b1.dim(1)});
  check_shape("sddmm", "b2", b2, {adj.cols(), b1.dim(1)});
  const Tensor out = Tensor::empty({adj.num_edges()}, b1.dtype(), b1.device());
  if (out.numel() > 0) kernels::sddmm.on(out.device())(adj.csr(), b1, b2, out);
  return out;
}

Variable sddmm(const Adjacency& adj, const Variable& b1, const Variable& b2) {
  return record("sddmm", sddmm(adj, b1.value(), b2.value()), {b1, b2}, [=](const Tensor& ds) {
    Tensor db1, db2;
    if (b1.requires_grad()) db1 = spmm(adj, ds, b2.value());
    if (b2.requires_grad()) {
      const Transposed t = transpose(adj);
      db2 = spmm(t.adj, take(ds, t.edge_ids), b1.value());
    }
    return std::vector{db1, db2};
  });
}

}  // namespace rodeo
