#include "datasets/reorder.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/random.h"
#include "ops/convert.h"

namespace rodeo {
namespace {

constexpr std::uint64_t kStream = 0x6f72646572;  // "order"

class CuthillMcKee {
 public:
  explicit CuthillMcKee(const Adjacency& adj)
      : ptr_(adj.csr().row_ptr.data<std::int64_t>()),
        col_(adj.csr().col.data<std::int32_t>()),
        level_(static_cast<std::size_t>(adj.rows()), -1) {
    order_.reserve(level_.size());
  }

  Tensor run() {
    const auto n = static_cast<std::int64_t>(level_.size());
    for (std::int64_t node = 0; node < n; ++node)
      if (level_[node] < 0) add_component(node);
    std::reverse(order_.begin(), order_.end());
    return Tensor::from(order_);
  }

 private:
  std::int64_t degree(std::int64_t node) const { return ptr_[node + 1] - ptr_[node]; }

  // Breadth-first search: appends the component of `root` to order_. Returns the number of levels.
  std::int64_t search(std::int64_t root) {
    std::size_t at = order_.size();
    order_.push_back(root);
    level_[root] = 0;
    for (; at < order_.size(); ++at) {
      const std::int64_t node = order_[at];
      const auto first = static_cast<std::ptrdiff_t>(order_.size());
      for (std::int64_t e = ptr_[node]; e < ptr_[node + 1]; ++e) {
        if (level_[col_[e]] >= 0) continue;
        level_[col_[e]] = level_[node] + 1;
        order_.push_back(col_[e]);
      }
      std::sort(order_.begin() + first, order_.end(), [&](std::int64_t a, std::int64_t b) {
        return degree(a) != degree(b) ? degree(a) < degree(b) : a < b;
      });
    }
    return level_[order_.back()] + 1;
  }

  // Searches again from the node of lowest degree in the last level while that makes more levels: the
  // pseudo-peripheral node of George and Liu (1979).
  void add_component(std::int64_t root) {
    constexpr int kMaxStarts = 8;  // usually two or three are enough
    const std::size_t begin = order_.size();
    std::int64_t levels = search(root);
    for (int start = 1; start < kMaxStarts; ++start) {
      std::int64_t next = order_.back();
      for (std::size_t i = order_.size(); i-- > begin && level_[order_[i]] == levels - 1;)
        if (degree(order_[i]) <= degree(next)) next = order_[i];
      for (std::size_t i = begin; i < order_.size(); ++i) level_[order_[i]] = -1;
      order_.resize(begin);
      const std::int64_t deeper = search(next);
      if (deeper <= levels) break;
      levels = deeper;
    }
  }

  const std::int64_t* ptr_;
  const std::int32_t* col_;
  std::vector<std::int64_t> level_, order_;
};

}  // namespace

Tensor node_order(const Dataset& dataset, NodeOrder by, bool undirected, Device sort_on) {
  if (by == NodeOrder::kNone) return {};
  Dataset edges;  // without weights: sorting them takes time
  edges.num_nodes = dataset.num_nodes;
  edges.src = dataset.src, edges.dst = dataset.dst;
  edges.indptr = dataset.indptr, edges.indices = dataset.indices;
  const auto sorted = [&](const CooOptions& options) { return to_graph(edges, sort_on, options).adj; };
  if (by == NodeOrder::kDegree) return degree_order(sorted({.symmetrize = undirected}).to(kCpu));
  // Most graphs are symmetric already. Symmetrising them again takes twice the time and memory.
  Adjacency adj = sorted({.drop_duplicates = true, .self_loops = SelfLoops::kDrop});
  if (count_one_way_edges(adj) > 0) adj = sorted({.symmetrize = true, .self_loops = SelfLoops::kDrop});
  adj = adj.to(kCpu);
  return by == NodeOrder::kRcm ? rcm_order(adj) : rabbit_order(adj);
}

Tensor degree_order(const Adjacency& adj) {
  const auto* ptr = adj.csr().row_ptr.data<std::int64_t>();
  std::vector<std::int64_t> order(static_cast<std::size_t>(adj.rows()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return ptr[a + 1] - ptr[a] > ptr[b + 1] - ptr[b]; });
  return Tensor::from(order);
}

Tensor rcm_order(const Adjacency& adj) {
  check(adj.rows() == adj.cols(), "[rcm_order] needs a square graph, got ", adj.rows(), " x ", adj.cols());
  return CuthillMcKee(adj).run();
}

Tensor random_order(std::int64_t nodes, std::uint64_t seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(nodes));
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t i = nodes - 1; i > 0; --i) {  // Fisher-Yates shuffle
    const std::uint64_t word = random_word(seed, kStream, static_cast<std::uint64_t>(i));
    std::swap(order[i], order[static_cast<std::size_t>((word * static_cast<std::uint64_t>(i + 1)) >> 32)]);
  }
  return Tensor::from(order);
}

Tensor inverse_order(const Tensor& order) {
  check(order.defined() && order.rank() == 1 && order.dtype() == DType::kI64 && order.device() == kCpu,
        "[inverse_order] order must be i64 [nodes] on the host");
  const Tensor places = Tensor::full(order.shape(), -1, DType::kI64);
  const auto* node = order.data<std::int64_t>();
  auto* place = places.data<std::int64_t>();
  for (std::int64_t i = 0; i < order.numel(); ++i) {
    check(node[i] >= 0 && node[i] < order.numel(), "[inverse_order] order[", i, "] = ", node[i],
          " is outside [0, ", order.numel(), ")");
    check(place[node[i]] < 0, "[inverse_order] node ", node[i], " is a duplicate");
    place[node[i]] = i;
  }
  return places;
}

double near_edges(const Dataset& dataset, std::int64_t window) {
  std::int64_t near = 0;
  const auto is_near = [&](std::int64_t a, std::int64_t b) { return std::abs(a - b) <= window; };
  if (dataset.indptr.defined()) {
    const Tensor indices = dataset.indices.to(kCpu).to(DType::kI32), indptr = dataset.indptr.to(kCpu);
    const auto* ptr = indptr.data<std::int64_t>();
#pragma omp parallel for schedule(dynamic, 1024) reduction(+ : near)
    for (std::int64_t i = 0; i < dataset.num_nodes; ++i)
      for (std::int64_t e = ptr[i]; e < ptr[i + 1]; ++e) near += is_near(i, indices.data<std::int32_t>()[e]);
  } else {
    const Tensor src = dataset.src.to(kCpu).to(DType::kI32), dst = dataset.dst.to(kCpu).to(DType::kI32);
#pragma omp parallel for reduction(+ : near)
    for (std::int64_t e = 0; e < src.numel(); ++e)
      near += is_near(src.data<std::int32_t>()[e], dst.data<std::int32_t>()[e]);
  }
  return static_cast<double>(near) / static_cast<double>(std::max<std::int64_t>(1, dataset.num_edges()));
}

}  // namespace rodeo
