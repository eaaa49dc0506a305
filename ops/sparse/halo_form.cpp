// Each rank receives those rows of other ranks that its edges read, by an all-to-all, and multiplies its rows
// of the graph.
#include <algorithm>

#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/kernels/exchange.h"
#include "ops/kernels/graph.h"
#include "ops/sparse/aggregation_forms.h"
#include "ops/sparse/shapes.h"
#include "ops/sparse/spmm_sum.h"

namespace rodeo {
namespace {

AggregationTime cost(const AggregationSizes& sizes, const AggregationRates& rates) {
  const auto nodes = static_cast<double>(sizes.nodes);
  const double local = nodes / sizes.ranks, received = (nodes - local) * sizes.halo_fraction;
  const double row = row_bytes(sizes, static_cast<double>(sizes.columns));
  AggregationTime out = gathered_cost(sizes, received, rates);
  // Sent rows are packed. Received rows and the rank's own are copied to their places.
  if (sizes.ranks > 1)
    out.exchange_ms += rates.exchange_ms + 2 * (2 * received + local) * row / rates.copy_bytes;
  return out;
}

/// Which rows ranks exchange. Cached on ShardedRows::rows.
struct HaloRows {
  Tensor sent;      // i64: rows that other ranks read, counted from the rank's first one, by receiver
  Tensor received;  // i64: nodes of other ranks that the rank's edges read, ascending, and so by owner
  std::vector<std::int64_t> send_rows, receive_rows;  // a value for each rank
  Adjacency senders;  // [nodes of the rank, sent.numel()]: the positions of a row in `sent`
};

/// Nodes of other ranks that the edges read, ascending.
std::vector<std::int64_t> remote_columns(const ShardedRows& shard) {
  const NodePartition& nodes = *shard.nodes;
  std::vector<std::uint8_t> read(static_cast<std::size_t>(nodes.num_nodes()));
  const Tensor col = shard.rows.csr().col.to(kCpu);
  for (std::int64_t e = 0; e < col.numel(); ++e) read[col.data<std::int32_t>()[e]] = 1;
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < nodes.num_nodes(); ++i)
    if (read[i] && (i < nodes.first_row() || i >= nodes.first_row() + nodes.num_rows())) ids.push_back(i);
  return ids;
}

std::vector<std::int64_t> count_by_owner(const NodePartition& nodes, const std::vector<std::int64_t>& ids) {
  std::vector<std::int64_t> counts;
  std::int64_t end = 0;
  auto at = ids.begin();
  for (const std::int64_t rows : nodes.rows()) {
    end += rows;
    const auto next = std::lower_bound(at, ids.end(), end);
    counts.push_back(next - at);
    at = next;
  }
  return counts;
}

HaloRows find_halo(const ShardedRows& shard) {
  const NodePartition& nodes = *shard.nodes;
  const Communicator& ranks = nodes.ranks();
  const Device device = shard.rows.device();
  const std::vector<std::int64_t> ids = remote_columns(shard);
  HaloRows halo;
  halo.receive_rows = count_by_owner(nodes, ids);
  halo.received = Tensor::from(ids, device);
  halo.send_rows = ranks.all_to_all(Tensor::from(halo.receive_rows, device)).to_vector<std::int64_t>();
  std::vector<std::int64_t> sent =
      ranks.all_to_all(halo.received, halo.receive_rows, halo.send_rows).to_vector<std::int64_t>();
  std::vector<std::int64_t> position;
  for (std::int64_t& id : sent) id -= nodes.first_row(), position.push_back(std::ssize(position));
  halo.sent = Tensor::from(sent, device);
  halo.senders =
      coo_to_csr(halo.sent, Tensor::from(position, device), nodes.num_rows(), std::ssize(sent)).adj;
  return halo;
}

void prepare(const ShardedRows& shard, ShardPlan& plan) {
  const NodePartition& nodes = *shard.nodes;
  const HaloRows halo = find_halo(shard);
  const auto others = static_cast<double>(nodes.num_nodes() - nodes.num_rows());
  const auto read = static_cast<double>(halo.received.numel());
  plan.sizes.halo_fraction = std::ranges::max(of_ranks(shard, others > 0 ? read / others : 0));
  constexpr double kNearlyAll = 0.9;
  if (plan.wanted == Aggregation::kHalo || plan.sizes.halo_fraction < kNearlyAll)
    shard.rows.cached<HaloRows>([&] { return halo; });
}

bool is_candidate(const ShardedRows& shard, const AggregationProblem&) {
  return shard.rows.has_cached<HaloRows>();
}

const HaloRows& halo_of(const ShardedRows& shard) {
  return shard.rows.cached<HaloRows>([] { return HaloRows(); });
}

Tensor take_rows(const Tensor& x, const Tensor& index) {
  const Tensor y = Tensor::empty(with_rows(x, index.numel()), x.dtype(), x.device());
  if (y.numel() > 0) kernels::gather_rows.on(y.device())(edge_matrix(x), {}, index, edge_matrix(y));
  return y;
}

Tensor exchange(const ShardedRows& shard, const Tensor& x) {
  const NodePartition& nodes = *shard.nodes;
  const HaloRows& halo = halo_of(shard);
  const Tensor remote = nodes.ranks().all_to_all(take_rows(x, halo.sent), halo.send_rows, halo.receive_rows);
  const Tensor y = Tensor::empty(with_rows(x, nodes.num_nodes()), x.dtype(), x.device());
  if (x.numel() > 0) y.slice(nodes.first_row(), nodes.first_row() + nodes.num_rows()).copy_from(x);
  if (remote.numel() > 0)
    kernels::scatter_rows.on(y.device())(edge_matrix(remote), halo.received, edge_matrix(y));
  return y;
}

/// The rank's rows of dy, plus what other ranks have for them, in the order of ranks. Reads dy in the rows of
/// the rank and of its halo only.
Tensor exchange_backward(const ShardedRows& shard, const Tensor& dy) {
  const NodePartition& nodes = *shard.nodes;
  const HaloRows& halo = halo_of(shard);
  const Tensor back =
      nodes.ranks().all_to_all(take_rows(dy, halo.received), halo.receive_rows, halo.send_rows);
  const Tensor local = dy.slice(nodes.first_row(), nodes.first_row() + nodes.num_rows());
  if (local.numel() == 0) return local.clone();
  const Tensor sum = spmm_sum(halo.senders, Tensor(), edge_matrix(back), {.algorithm = SpmmAlgorithm::kRode});
  return linear_combination(1, edge_matrix(local), 1, sum).reshape(local.shape());
}

Variable gather(const ShardedRows& shard, const Variable& x) {
  return record("exchange_halo", exchange(shard, x.value()), {x},
                [shard = shard](const Tensor& dy) { return std::vector{exchange_backward(shard, dy)}; });
}

}  // namespace

extern constinit const AggregationForm kHaloForm{.form = Aggregation::kHalo,
                                                 .cost = cost,
                                                 .is_candidate = is_candidate,
                                                 .prepare = prepare,
                                                 .gather = gather};

}  // namespace rodeo
