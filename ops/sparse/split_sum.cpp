#include "ops/sparse/split_sum.h"

#include "core/cuda_graph.h"
#include "ops/combine.h"
#include "ops/sparse/row_order.h"
#include "ops/sparse/spmm_sum.h"

namespace rodeo {
namespace {

/// Cached on ShardedRows::rows.
struct SplitRows {
  mutable Adjacency local;   // [nodes of the rank, nodes of the rank]
  mutable Adjacency remote;  // [nodes of the rank, all nodes]
};

const SplitRows& cached_split(const Adjacency& rows) {
  return rows.cached<SplitRows>([] { return SplitRows(); });
}

void split(const ShardedRows& shard, const SplitRows& out) {
  const Csr& all = shard.rows.csr();
  const std::int64_t first = shard.nodes->first_row(), own = shard.nodes->num_rows();
  const std::vector<std::int64_t> row_ptr = all.row_ptr.to_vector<std::int64_t>();
  const Tensor columns = all.col.to(kCpu);
  const auto* col = columns.data<std::int32_t>();
  std::vector<std::int64_t> local_ptr{0}, remote_ptr{0};
  std::vector<std::int32_t> local, remote;
  local.reserve(static_cast<std::size_t>(columns.numel())), remote.reserve(local.capacity());
  for (std::int64_t row = 0; row < own; ++row) {
    for (std::int64_t e = row_ptr[row]; e < row_ptr[row + 1]; ++e)
      if (col[e] >= first && col[e] < first + own)
        local.push_back(static_cast<std::int32_t>(col[e] - first));
      else
        remote.push_back(col[e]);
    local_ptr.push_back(std::ssize(local)), remote_ptr.push_back(std::ssize(remote));
  }
  const Device device = all.col.device();
  out.local = Adjacency::trusted({own, own, Tensor::from(local_ptr, device), Tensor::from(local, device)});
  out.remote =
      Adjacency::trusted({own, all.cols, Tensor::from(remote_ptr, device), Tensor::from(remote, device)});
  order_as(shard.rows, out.local);
  order_as(shard.rows, out.remote);
}

Tensor compute(const ShardedRows& shard, const Tensor& x, const SpmmOptions& options) {
  const SplitRows& rows = cached_split(shard.rows);
  if (!rows.local.defined()) {
    check(!is_capturing(shard.rows.device()),
          "[spmm] the rows of a rank cannot be split during CUDA graph capture: run the work once before "
          "capturing");
    split(shard, rows);
  }
  const Communicator& ranks = shard.nodes->ranks();
  const Tensor all = ranks.start_all_gather(x, shard.nodes->rows());
  const Tensor local = spmm_sum(rows.local, Tensor(), x, options);
  ranks.finish(all);
  return linear_combination(1, local, 1, spmm_sum(rows.remote, Tensor(), all, options));
}

}  // namespace

Variable split_sum(const ShardedRows& shard, const Variable& x, const SpmmOptions& options) {
  return record("spmm", compute(shard, x.value(), options), {x}, [shard = shard, options](const Tensor& dy) {
    return std::vector{compute(shard, dy, options)};
  });
}

std::vector<Adjacency> split_rows(const Adjacency& rows) {
  const SplitRows& split = cached_split(rows);
  if (!split.local.defined()) return {};
  return {split.local, split.remote};
}

void release_split_rows(const Adjacency& rows) {
  cached_split(rows).local = cached_split(rows).remote = {};
}

}  // namespace rodeo
