#include <vector>

#include "ops/kernels.h"

namespace rodeo::kernels::cpu {

TcaPlan tca_plan(const Csr& a, const Tensor& order) {
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
  std::vector<std::int32_t> job_row, job_length, job_split;
  std::vector<std::int64_t> job_begin, slot{0};
  TcaPlan plan;
  for (int group = 0; group < TcaPlan::kGroups; ++group) {
    for (std::int64_t i = 0; i < a.rows; ++i) {
      const std::int64_t row = order.defined() ? order.data<std::int32_t>()[i] : i;
      const std::int64_t begin = row_ptr[row], end = row_ptr[row + 1];
      if (TcaPlan::group_of(end - begin) != group) continue;
      const std::int64_t pieces = TcaPlan::pieces(end - begin);
      if (pieces > 1) slot.push_back(slot.back() + pieces);
      for (std::int64_t piece = 0; piece < pieces; ++piece) {
        const std::int64_t first = begin + piece * TcaPlan::kSplit;
        job_row.push_back(static_cast<std::int32_t>(row));
        job_length.push_back(static_cast<std::int32_t>(TcaPlan::piece_length(end - first)));
        job_begin.push_back(first);
        if (group == 0) job_split.push_back(pieces > 1 ? static_cast<std::int32_t>(slot.size()) - 2 : -1);
      }
    }
    plan.group_begin[group + 1] = static_cast<std::int64_t>(job_row.size());
  }
  plan.job_row = Tensor::from(job_row);
  plan.job_length = Tensor::from(job_length);
  plan.job_begin = Tensor::from(job_begin);
  plan.job_split = Tensor::from(job_split);
  plan.split_slot = Tensor::from(slot);
  plan.num_slots = slot.back();
  return plan;
}

}  // namespace rodeo::kernels::cpu
