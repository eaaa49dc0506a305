#include "ops/sparse/halo.h"

#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/kernels/exchange.h"
#include "ops/kernels/graph.h"
#include "ops/sparse/shapes.h"
#include "ops/sparse/spmm_sum.h"

namespace rodeo {
namespace {

/// Nodes of other ranks that the edges read, ascending.
std::vector<std::int64_t> remote_columns(const ShardedRows& share) {
  const NodePartition& nodes = *share.nodes;
  std::vector<std::uint8_t> read(static_cast<std::size_t>(nodes.num_nodes()));
  const Tensor col = share.rows.csr().col.to(kCpu);
  for (std::int64_t e = 0; e < col.numel(); ++e) read[col.data<std::int32_t>()[e]] = 1;
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < nodes.num_nodes(); ++i)
    if (read[i] && (i < nodes.first_row() || i >= nodes.first_row() + nodes.num_rows())) ids.push_back(i);
  return ids;
}

std::vector<std::int64_t> count_by_owner(const NodePartition& nodes, const std::vector<std::int64_t>& ids) {
  std::vector<std::int64_t> counts;
  std::int64_t end = 0;
  std::size_t at = 0;
  for (const std::int64_t rows : nodes.rows()) {
    end += rows;
    std::int64_t count = 0;
    for (; at < ids.size() && ids[at] < end; ++at) ++count;
    counts.push_back(count);
  }
  return counts;
}

Tensor gathered(const Tensor& x, const Tensor& index) {
  const Tensor y = Tensor::empty(with_rows(x, index.numel()), x.dtype(), x.device());
  if (y.numel() > 0) kernels::gather_rows.on(y.device())(edge_matrix(x), {}, index, edge_matrix(y));
  return y;
}

}  // namespace

HaloRows find_halo(const ShardedRows& share) {
  const NodePartition& nodes = *share.nodes;
  const Communicator& ranks = nodes.ranks();
  const Device device = share.rows.device();
  const std::vector<std::int64_t> ids = remote_columns(share);
  HaloRows halo;
  halo.receive_rows = count_by_owner(nodes, ids);
  halo.received = Tensor::from(ids, device);
  halo.send_rows = ranks.all_to_all(Tensor::from(halo.receive_rows, device)).to_vector<std::int64_t>();
  std::vector<std::int64_t> sent =
      ranks.all_to_all(halo.received, halo.receive_rows, halo.send_rows).to_vector<std::int64_t>();
  std::vector<std::int64_t> place;
  for (std::int64_t& id : sent) id -= nodes.first_row(), place.push_back(std::ssize(place));
  halo.sent = Tensor::from(sent, device);
  halo.senders = coo_to_csr(halo.sent, Tensor::from(place, device), nodes.num_rows(), std::ssize(sent)).adj;
  return halo;
}

Tensor exchange_halo(const NodePartition& nodes, const HaloRows& halo, const Tensor& x) {
  const Tensor remote = nodes.ranks().all_to_all(gathered(x, halo.sent), halo.send_rows, halo.receive_rows);
  const Tensor y = Tensor::empty(with_rows(x, nodes.num_nodes()), x.dtype(), x.device());
  if (x.numel() > 0) y.slice(nodes.first_row(), nodes.first_row() + nodes.num_rows()).copy_from(x);
  if (remote.numel() > 0)
    kernels::scatter_rows.on(y.device())(edge_matrix(remote), halo.received, edge_matrix(y));
  return y;
}

Tensor exchange_halo_backward(const NodePartition& nodes, const HaloRows& halo, const Tensor& dy) {
  const Tensor back =
      nodes.ranks().all_to_all(gathered(dy, halo.received), halo.receive_rows, halo.send_rows);
  const Tensor own = dy.slice(nodes.first_row(), nodes.first_row() + nodes.num_rows());
  if (own.numel() == 0) return own.clone();
  const Tensor sum = spmm_sum(halo.senders, Tensor(), edge_matrix(back), {.algorithm = SpmmAlgorithm::kRode});
  return linear_combination(1, edge_matrix(own), 1, sum).reshape(own.shape());
}

}  // namespace rodeo
