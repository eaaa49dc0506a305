// TCA-SpMM's plan on the GPU: count, one scan, fill. Equal to the host's plan, array for array.
#include "ops/cuda/scan.cuh"
#include "ops/kernels.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
// Sections of the counts, each with an entry a row: jobs in each group, then split rows, then their slots.
// Scanned as one array, an entry is a job's place; behind the groups it is that plus where the section
// begins.
constexpr int kSplits = TcaPlan::kGroups, kSlots = kSplits + 1, kSections = kSlots + 1;

__global__ void count_kernel(const std::int64_t* row_ptr, const std::int32_t* order, std::int64_t rows,
                             std::int64_t* count) {
  RODEO_GRID_STRIDE(at, rows) {
    const std::int64_t row = order ? order[at] : at;
    const std::int64_t length = row_ptr[row + 1] - row_ptr[row], pieces = TcaPlan::pieces(length);
    const int group = TcaPlan::group_of(length);
    for (int section = 0; section < TcaPlan::kGroups; ++section)
      count[section * rows + at] = section == group ? pieces : 0;
    count[kSplits * rows + at] = pieces > 1;
    count[kSlots * rows + at] = pieces > 1 ? pieces : 0;
  }
}

struct Jobs {
  std::int32_t *row, *length, *split;
  std::int64_t *begin, *split_slot;
};

__global__ void fill_kernel(const std::int64_t* row_ptr, const std::int32_t* order, std::int64_t rows,
                            const std::int64_t* place, Jobs out) {
  const std::int64_t first_split = place[kSplits * rows], first_slot = place[kSlots * rows];
  RODEO_GRID_STRIDE(at, rows) {
    const std::int64_t row = order ? order[at] : at;
    const std::int64_t begin = row_ptr[row], end = row_ptr[row + 1], pieces = TcaPlan::pieces(end - begin);
    const int group = TcaPlan::group_of(end - begin);
    const std::int64_t split = place[kSplits * rows + at] - first_split;
    if (pieces > 1) out.split_slot[split] = place[kSlots * rows + at] - first_slot;
    for (std::int64_t i = 0; i < pieces; ++i) {
      const std::int64_t job = place[group * rows + at] + i, first = begin + i * TcaPlan::kSplit;
      out.row[job] = static_cast<std::int32_t>(row);
      out.length[job] = static_cast<std::int32_t>(TcaPlan::piece_length(end - first));
      out.begin[job] = first;
      if (group == 0) out.split[job] = pieces > 1 ? static_cast<std::int32_t>(split) : -1;
    }
  }
}

}  // namespace

TcaPlan tca_plan(const Csr& a, const Tensor& order_) {
  const Device device = a.col.device();
  const auto empty = [&](std::int64_t n, DType dtype) { return Tensor::empty({n}, dtype, device); };
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
  const std::int64_t rows = a.rows;
  const auto* order = static_cast<const std::int32_t*>(order_.raw());

  const Tensor place = empty(kSections * rows + 1, DType::kI64);
  if (rows > 0)
    launch("tca_plan count", device, count_kernel, grid_for(rows, kThreads), kThreads, 0, row_ptr, order,
           rows, place.data<std::int64_t>());
  exclusive_scan(place);

  TcaPlan plan;
  std::int64_t begin[kSections + 1];
  for (int section = 0; section <= kSections; ++section)
    begin[section] = last(place.slice(0, section * rows + 1));
  for (int group = 0; group <= TcaPlan::kGroups; ++group) plan.group_begin[group] = begin[group];
  const std::int64_t jobs = begin[kSplits], splits = begin[kSlots] - begin[kSplits];
  plan.num_slots = begin[kSections] - begin[kSlots];

  plan.job_row = empty(jobs, DType::kI32);
  plan.job_length = empty(jobs, DType::kI32);
  plan.job_begin = empty(jobs, DType::kI64);
  plan.job_split = empty(plan.group_begin[1], DType::kI32);
  plan.split_slot = empty(splits + 1, DType::kI64);
  if (rows > 0)
    launch("tca_plan fill", device, fill_kernel, grid_for(rows, kThreads), kThreads, 0, row_ptr, order, rows,
           place.data<std::int64_t>(),
           Jobs{plan.job_row.data<std::int32_t>(), plan.job_length.data<std::int32_t>(),
                plan.job_split.data<std::int32_t>(), plan.job_begin.data<std::int64_t>(),
                plan.split_slot.data<std::int64_t>()});
  plan.split_slot.slice(splits, splits + 1).copy_from(Tensor::from(std::vector{plan.num_slots}));
  return plan;
}

}  // namespace rodeo::kernels::cuda
