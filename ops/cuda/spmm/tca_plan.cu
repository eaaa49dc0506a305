// TCA-SpMM's plan on the GPU: count the blocks of work of every row, scan, fill, sort, write the warps. All
// arrays are equal to those of the host's plan.
#include "ops/plan/tca_plan.h"

#include <cub/device/device_radix_sort.cuh>

#include "ops/cuda/device/scan.cuh"
#include "ops/kernels/sparse.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kSizes = 4;  // work of 8, 4, 2 and 1 warps

// grid-stride over rows. count [rows + 1]: thread blocks of a row, 1 where it has a part of one.
__global__ void count_kernel(const std::int64_t* row_ptr, std::int64_t rows, std::int64_t tiles,
                             std::int32_t* num_warps, std::int64_t* count) {
  RODEO_GRID_STRIDE(row, rows) {
    const std::int64_t warps = TcaPlan::warps(row_ptr[row + 1] - row_ptr[row], tiles);
    num_warps[row] = static_cast<std::int32_t>(warps);
    count[row] = ceil_div(warps, TcaPlan::kWarps);
  }
}

struct Work {  // [blocks of work]
  std::int32_t* row;
  std::uint16_t* rank;
  std::int32_t* index;
};

// grid-stride over rows.
__global__ void fill_kernel(std::int64_t rows, const std::int32_t* num_warps, const std::int64_t* first,
                            const std::uint8_t* cluster, Work work) {
  RODEO_GRID_STRIDE(row, rows) {
    const int group = cluster ? cluster[row] : 0;
    for (std::int64_t at = first[row]; at < first[row + 1]; ++at) {
      work.row[at] = static_cast<std::int32_t>(row);
      work.rank[at] = TcaPlan::rank(num_warps[row], group, at - first[row]);
      work.index[at] = static_cast<std::int32_t>(at);
    }
  }
}

// grid 1, block kSizes: where the work of each size begins in the order of ranks.
__global__ void bounds_kernel(const std::uint16_t* rank, std::int64_t n, std::int64_t* bounds) {
  const std::int64_t bound = TcaPlan::first_rank(TcaPlan::kWarps >> threadIdx.x);
  std::int64_t low = 0, high = n;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (rank[middle] < bound)
      low = middle + 1;
    else
      high = middle;
  }
  bounds[threadIdx.x] = low;
}

struct Bounds {
  std::int64_t first[kSizes + 1];  // work of each size, in the order of ranks

  /// The first warp of work i, where work has kWarps >> size warps.
  RODEO_HOST_DEVICE std::int64_t warp(std::int64_t i, int size) const {
    std::int64_t at = 0;
    for (int s = 0; s < size; ++s) at += (first[s + 1] - first[s]) * (TcaPlan::kWarps >> s);
    return at + (i - first[size]) * (TcaPlan::kWarps >> size);
  }
};

// grid-stride over work, in the order of ranks.
__global__ void write_kernel(const std::int32_t* order, const std::int32_t* work_row,
                             const std::int64_t* first_work, std::int64_t n, Bounds bounds,
                             std::int32_t* row_id, std::int32_t* warp_id) {
  RODEO_GRID_STRIDE(i, n) {
    const std::int32_t at = order[i], row = work_row[at];
    int size = 0;
    while (i >= bounds.first[size + 1]) ++size;
    const std::int64_t to = bounds.warp(i, size);
    for (int w = 0; w < TcaPlan::kWarps >> size; ++w) {
      row_id[to + w] = row;
      warp_id[to + w] = static_cast<std::int32_t>((at - first_work[row]) * TcaPlan::kWarps + w);
    }
  }
}

// grid 1, block kWarps: the warps of the last block that have no row.
__global__ void pad_kernel(std::int64_t from, std::int64_t to, std::int32_t* row_id, std::int32_t* warp_id) {
  const std::int64_t warp = from + threadIdx.x;
  if (warp >= to) return;
  row_id[warp] = -1;
  warp_id[warp] = 0;
}

Tensor indices(std::int64_t n, Device device) {
  return Tensor::empty({n}, DType::kI32, device);
}

}  // namespace

TcaPlan tca_plan(const Csr& a, const Tensor& cluster, std::int64_t tiles) {
  const Device device = a.col.device();
  TcaPlan plan{indices(0, device), indices(a.rows, device), indices(0, device)};
  if (a.rows == 0) return plan;
  const auto i32 = [](const Tensor& t) { return t.data<std::int32_t>(); };
  const Tensor first = Tensor::empty({a.rows + 1}, DType::kI64, device);
  launch("tca_plan count", device, count_kernel, grid_for(a.rows, kThreads), kThreads, 0,
         a.row_ptr.data<std::int64_t>(), a.rows, tiles, i32(plan.num_warps_per_row),
         first.data<std::int64_t>());
  exclusive_scan(first);
  const std::int64_t n = last(first);

  const auto ranks = [&] { return Tensor::empty({2 * n}, DType::kU8, device); };  // u16
  const auto u16 = [](const Tensor& t) { return static_cast<std::uint16_t*>(t.raw()); };
  const Tensor row = indices(n, device), index = indices(n, device), order = indices(n, device),
               rank = ranks(), sorted_rank = ranks();
  launch("tca_plan fill", device, fill_kernel, grid_for(a.rows, kThreads), kThreads, 0, a.rows,
         i32(plan.num_warps_per_row), first.data<std::int64_t>(),
         static_cast<const std::uint8_t*>(cluster.raw()), Work{i32(row), u16(rank), i32(index)});
  with_scratch("sort", device, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, u16(rank), u16(sorted_rank), i32(index),
                                           i32(order), n, 0, 16, Context::of(device).stream());
  });
  const Tensor begins = Tensor::empty({kSizes}, DType::kI64, device);
  launch("tca_plan bounds", device, bounds_kernel, dim3(1), dim3(kSizes), 0, u16(sorted_rank), n,
         begins.data<std::int64_t>());
  Bounds bounds{};
  const std::vector<std::int64_t> begin = begins.to_vector<std::int64_t>();
  for (std::size_t s = 0; s < kSizes; ++s) bounds.first[s] = begin[s];
  bounds.first[kSizes] = n;

  const std::int64_t used = bounds.warp(n, kSizes - 1),
                     warps = ceil_div(used, TcaPlan::kWarps) * TcaPlan::kWarps;
  plan.row_id_for_each_warp = indices(warps, device);
  plan.warpid_within_row = indices(warps, device);
  launch("tca_plan write", device, write_kernel, grid_for(n, kThreads), kThreads, 0, i32(order), i32(row),
         first.data<std::int64_t>(), n, bounds, i32(plan.row_id_for_each_warp), i32(plan.warpid_within_row));
  launch("tca_plan pad", device, pad_kernel, dim3(1), dim3(TcaPlan::kWarps), 0, used, warps,
         i32(plan.row_id_for_each_warp), i32(plan.warpid_within_row));
  return plan;
}

}  // namespace rodeo::kernels::cuda
