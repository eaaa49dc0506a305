#include "ops/negative_edges.h"

#include "ops/checks.h"
#include "ops/kernels/pairs.h"

namespace rodeo {

void negative_edges(const Adjacency& adj, RandomKey key, const NodePairs& out) {
  check(adj.defined(), "[negative_edges] adj is undefined");
  const std::int64_t n = adj.rows();
  check(n == adj.cols(), "[negative_edges] the graph must be square, got ", n, " x ", adj.cols());
  for (const auto& [name, index] : {std::pair{"src", out.src}, {"dst", out.dst}}) {
    check(index.defined() && index.rank() == 1 && index.dtype() == DType::kI64, "[negative_edges] ", name,
          " must be i64 [k]");
    check_on_device_of("negative_edges", adj, name, index);
  }
  check_shape("negative_edges", "dst", out.dst, out.src.shape());
  if (out.src.numel() == 0) return;
  check(adj.num_edges() < n * (n - 1), "[negative_edges] every pair of the ", n,
        " nodes may be an edge: ", adj.num_edges(), " edges, expected fewer than ", n * (n - 1));
  kernels::negative_edges.on(adj.device())(adj.csr(), key, out.src, out.dst);
}

NodePairs negative_edges(const Adjacency& adj, std::int64_t count, RandomKey key) {
  check(adj.defined(), "[negative_edges] adj is undefined");
  check(count >= 0, "[negative_edges] count must not be negative, got ", count);
  const NodePairs out{Tensor::empty({count}, DType::kI64, adj.device()),
                      Tensor::empty({count}, DType::kI64, adj.device())};
  negative_edges(adj, key, out);
  return out;
}

}  // namespace rodeo
