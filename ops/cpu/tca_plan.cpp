#include "ops/plan/tca_plan.h"

#include <algorithm>
#include <vector>

#include "ops/kernels/sparse.h"

namespace rodeo::kernels::cpu {

TcaPlan tca_plan(const Csr& a, const Tensor& cluster, std::int64_t tiles) {
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
  struct Work {  // of one thread block, or of less
    std::int32_t row, block, warps;
    std::uint16_t rank;
  };
  std::vector<Work> all;
  std::vector<std::int32_t> num_warps;
  for (std::int64_t row = 0; row < a.rows; ++row) {
    const std::int64_t warps = TcaPlan::warps(row_ptr[row + 1] - row_ptr[row], tiles);
    num_warps.push_back(static_cast<std::int32_t>(warps));
    for (std::int64_t first = 0; first < warps; first += TcaPlan::kWarps) {
      const std::int64_t block = first / TcaPlan::kWarps;
      all.push_back({static_cast<std::int32_t>(row), static_cast<std::int32_t>(block),
                     static_cast<std::int32_t>(std::min<std::int64_t>(warps, TcaPlan::kWarps)),
                     TcaPlan::rank(warps, cluster.defined() ? cluster.data<std::uint8_t>()[row] : 0, block)});
    }
  }
  std::ranges::stable_sort(all, {}, &Work::rank);

  std::vector<std::int32_t> row_id, warp_id;
  for (const Work& work : all)
    for (std::int32_t i = 0; i < work.warps; ++i) {
      row_id.push_back(work.row);
      warp_id.push_back(work.block * TcaPlan::kWarps + i);
    }
  while (row_id.size() % TcaPlan::kWarps != 0) {
    row_id.push_back(-1);
    warp_id.push_back(0);
  }
  return {Tensor::from(row_id), Tensor::from(num_warps), Tensor::from(warp_id)};
}

}  // namespace rodeo::kernels::cpu
