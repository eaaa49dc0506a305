#include "train/task/graph_on_host.h"

#include "core/page_locked.h"
#include "ops/convert.h"

namespace rodeo {
namespace {

Tensor lock(const Tensor& x, Device device) {
  if (!x.defined()) return x;
  const Tensor out = page_locked(x.shape(), x.dtype(), device);
  out.copy_from(x);
  return out;
}

}  // namespace

ModelGraph graph_on_host(const ModelGraph& built, const Graph& from, Device device) {
  const Csr& csr = built.adj.csr();
  const Csr locked{csr.rows, csr.cols, lock(csr.row_ptr, device), lock(csr.col, device)};
  ModelGraph out{Adjacency::trusted(locked), {}, built.weighted, lock(built.edge_attr, device)};
  if (!built.normalized.adj.defined()) return out;
  out.normalized.adj = out.adj;
  out.normalized.weight = lock(built.normalized.weight, device);
  // Sums and roots are the device's own: those of the host may have other bits. The weights in f32: those of
  // `built` are rounded already.
  const Tensor weight = from.weight.defined()
                            ? lock(take(from.weight, add_self_loops(from.adj).edge_ids, 1), device)
                            : Tensor();
  const Adjacency once = Adjacency::trusted(locked);  // forgets the plans of this product
  out.normalized.scale = inverse_sqrt_degrees(once, weight);
  return out;
}

}  // namespace rodeo
