#include "ops/sparse/dense_block_plans.h"

#include <memory>
#include <numeric>
#include <optional>

#include "core/cuda_graph.h"
#include "ops/kernels/sparse.h"
#include "ops/sparse/derived.h"
#include "ops/sparse/row_order.h"

namespace rodeo {
namespace {

using Order = std::vector<std::int32_t>;

// Lower bounds of RowLocality::reused_fraction(): of 512 columns that are 90 % full, 32 neighbours with 32
// samples reuse 0.57. Windows of 4096 clustered rows with 4 samples reuse 0.85 and more.
constexpr double kReusedByNeighbours = 0.4, kReusedByClusters = 0.75;

/// The blocks in this order, if they pay on 32 of the groups and then on all.
std::optional<DenseBlocks> try_order(const Csr& host, const Order& order) {
  constexpr std::int64_t kSamples = 32;
  const std::int64_t groups = std::ssize(order) / DenseBlocks::kRows;
  if (groups > 2 * kSamples) {
    Order sample;
    for (std::int64_t i = 0; i < kSamples; ++i) {
      const auto first = order.begin() + i * groups / kSamples * DenseBlocks::kRows;
      sample.insert(sample.end(), first, first + DenseBlocks::kRows);
    }
    if (!make_dense_blocks(host, sample).pays()) return {};
  }
  DenseBlocks blocks = make_dense_blocks(host, order);
  return blocks.pays() ? std::optional(std::move(blocks)) : std::nullopt;
}

std::optional<DenseBlocks> find(const Adjacency& adj) {
  if (!DenseBlocks::should_try(adj.rows(), adj.num_edges()) || assumes_no_locality(adj)) return {};
  std::optional<Csr> host;
  const auto try_host = [&](auto&& make_order) {
    if (!host) host = Csr{adj.rows(), adj.cols(), adj.csr().row_ptr.to(kCpu), adj.csr().col.to(kCpu)};
    return try_order(*host, make_order(*host));
  };
  if (row_locality(adj).reused_fraction() >= kReusedByNeighbours) {
    auto blocks = try_host([](const Csr& a) {
      Order order(static_cast<std::size_t>(a.rows));
      std::iota(order.begin(), order.end(), 0);
      return order;
    });
    if (blocks) return blocks;
  }
  if (adj.rows() != adj.cols()) return {};
  const Tensor& known = row_clusters(adj);
  const Tensor cluster = known.defined() ? known : cluster_rows(adj);
  if (kernels::row_locality.on(adj.device())(adj.csr(), cluster, RowLocality::kOrder).reused_fraction() <
      kReusedByClusters)
    return {};
  return try_host([&](const Csr& a) { return min_hash_order(a, cluster.to(kCpu)); });
}

struct CachedBlocks {
  std::shared_ptr<const DenseBlocks> blocks;
};

}  // namespace

const DenseBlocks* dense_blocks(const Adjacency& adj) {
  if (!adj.has_cached<CachedBlocks>() && is_capturing(adj.device())) return nullptr;
  const auto make = [&] {
    const std::optional<DenseBlocks> found = find(adj);
    return found ? CachedBlocks{std::make_shared<const DenseBlocks>(found->to(adj.device()))}
                 : CachedBlocks{};
  };
  return adj.cached<CachedBlocks>(make).blocks.get();
}

const DenseBlocks* dense_form(const Adjacency& adj, DType dtype, const RodeOptions& options) {
  return size_of(dtype) == 2 && options == RodeOptions{} ? dense_blocks(adj) : nullptr;
}

}  // namespace rodeo
