#include "ops/plan/row_clusters.h"

#include <array>
#include <numeric>

#include "core/node_partition.h"
#include "ops/cpu/loops.h"
#include "ops/kernels/sparse.h"

namespace rodeo::kernels::cpu {

void cluster_rows(const Csr& a, const NodePartition* nodes, const Tensor& cluster) {
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
  const auto* col = a.col.data<std::int32_t>();
  const std::int64_t n = a.cols, first_row = nodes ? nodes->first_row() : 0;
  std::vector<std::int32_t> now(static_cast<std::size_t>(n)), next(static_cast<std::size_t>(a.rows));
  // next[row] = combine(count, neighbour), where neighbour(i) is the value of sample i of `count` neighbours.
  const auto pass = [&](auto&& combine) {
#pragma omp parallel for schedule(dynamic, 4096)
    for (std::int64_t row = 0; row < a.rows; ++row) {
      const std::int64_t begin = row_ptr[row], length = row_ptr[row + 1] - begin;
      next[row] = length == 0
                      ? now[first_row + row]
                      : combine(RowClusters::samples(length), [&now, col, begin, length](std::int64_t i) {
                          return now[col[RowClusters::sample(begin, length, i)]];
                        });
    }
    if (nodes)
      now = nodes->ranks().all_gather(Tensor::from(next), nodes->rows()).to_vector<std::int32_t>();
    else
      now.swap(next);
  };

  for (std::int64_t i = 0; i < n; ++i) now[i] = RowClusters::start(i);
  for (int step = 0; step < RowClusters::kMeans; ++step)
    pass([](std::int64_t count, auto&& neighbour) {
      std::int64_t sum = 0;
      for (std::int64_t i = 0; i < count; ++i) sum += neighbour(i);
      return static_cast<std::int32_t>(sum / count);
    });

  std::vector<std::int32_t> order(now.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::int32_t i) { return now[i]; });
  for (std::int64_t i = 0; i < n; ++i)
    now[order[i]] = static_cast<std::int32_t>(i * RowClusters::kClusters / n);

  for (int step = 0; step < RowClusters::kVotes; ++step)
    pass([](std::int64_t count, auto&& neighbour) {
      std::array<std::uint8_t, RowClusters::kClusters> votes{};
      std::int32_t best = 0;
      for (std::int64_t i = 0; i < count; ++i) ++votes[neighbour(i)];
      for (std::int32_t c = 1; c < RowClusters::kClusters; ++c)
        if (votes[c] >= votes[best]) best = c;  // the last of equal ones
      return best;
    });
  auto* out = cluster.data<std::uint8_t>();
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<std::uint8_t>(now[i]);
}

}  // namespace rodeo::kernels::cpu
