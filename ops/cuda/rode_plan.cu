// RoDe's plan on the GPU: count, scan, fill, sort by length. Equal to the host's plan, array for array.
#include "ops/cuda/scan.cuh"
#include "ops/kernels.h"
#include "ops/row_clusters.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kLengthBits = 5;  // whole blocks of a piece and the length of a short row are both below 32
constexpr int kLongest = (1 << kLengthBits) - 1;
static_assert((RodePlan::kSplit + RodePlan::kBlock) / RodePlan::kBlock <= kLongest);
static_assert(RodePlan::kBlock - 1 <= kLongest);
constexpr int kClusterBits = 8;

// Cluster by cluster, longest first.
__device__ std::uint16_t rank_of(const std::uint8_t* cluster, std::int64_t row, std::int64_t length) {
  return static_cast<std::uint16_t>((cluster ? cluster[row] : 0) << kLengthBits | (kLongest - length));
}

struct Counts {  // [rows + 1] each; scanned in place
  std::int64_t *pieces, *residual, *splits, *slots;
};

__global__ void count_kernel(const std::int64_t* row_ptr, std::int64_t rows, Counts counts) {
  RODEO_GRID_STRIDE(row, rows) {
    const std::int64_t pieces = RodePlan::pieces(row_ptr[row + 1] - row_ptr[row]);
    counts.pieces[row] = pieces;
    counts.residual[row] = pieces == 0;
    counts.splits[row] = pieces > 1;
    counts.slots[row] = pieces > 1 ? pieces : 0;
  }
}

struct Pieces {
  std::int32_t *row, *split;
  std::int64_t* begin;
  std::uint16_t* rank;
};

__global__ void fill_kernel(const std::int64_t* row_ptr, const std::uint8_t* cluster, std::int64_t rows,
                            Counts at, Pieces out, std::int32_t* residual_row, std::uint16_t* residual_rank,
                            std::int64_t* split_slot) {
  RODEO_GRID_STRIDE(row, rows) {
    const std::int64_t begin = row_ptr[row], end = row_ptr[row + 1], pieces = RodePlan::pieces(end - begin);
    if (pieces == 0) {
      residual_row[at.residual[row]] = static_cast<std::int32_t>(row);
      residual_rank[at.residual[row]] = rank_of(cluster, row, end - begin);
    }
    if (pieces > 1) split_slot[at.splits[row]] = at.slots[row];
    for (std::int64_t i = 0; i < pieces; ++i) {
      const std::int64_t p = at.pieces[row] + i, first = begin + i * RodePlan::kSplit;
      out.row[p] = static_cast<std::int32_t>(row);
      out.begin[p] = first;
      out.split[p] = pieces > 1 ? static_cast<std::int32_t>(at.splits[row]) : -1;
      out.rank[p] = rank_of(cluster, row, RodePlan::piece_length(end - first) / RodePlan::kBlock);
    }
  }
}

__global__ void reorder_kernel(const std::int32_t* order, std::int64_t n, Pieces from, Pieces to) {
  RODEO_GRID_STRIDE(i, n) {
    to.row[i] = from.row[order[i]];
    to.split[i] = from.split[order[i]];
    to.begin[i] = from.begin[order[i]];
  }
}

__global__ void iota_kernel(std::int32_t* out, std::int64_t n) {
  RODEO_GRID_STRIDE(i, n) out[i] = static_cast<std::int32_t>(i);
}

// Values in the order of rising ranks; equal ranks keep their order.
Tensor sort_by_rank(const Tensor& rank, const Tensor& values, int bits) {
  const auto keys = [](const Tensor& t) { return static_cast<std::uint16_t*>(t.raw()); };
  const Tensor sorted_rank = Tensor::empty(rank.shape(), rank.dtype(), rank.device());
  const Tensor sorted = Tensor::empty(values.shape(), DType::kI32, values.device());
  with_scratch("sort", rank.device(), [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys(rank), keys(sorted_rank),
                                           values.data<std::int32_t>(), sorted.data<std::int32_t>(),
                                           values.numel(), 0, bits, Context::of(rank.device()).stream());
  });
  return sorted;
}

}  // namespace

RodePlan rode_plan(const Csr& a, const Tensor& cluster) {
  const Device device = a.col.device();
  static_assert(RowClusters::kClusters <= 1 << kClusterBits);
  const auto empty = [&](std::int64_t n, DType dtype) { return Tensor::empty({n}, dtype, device); };
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();

  Tensor count[4];
  for (Tensor& c : count) c = empty(a.rows + 1, DType::kI64);
  const Counts counts{count[0].data<std::int64_t>(), count[1].data<std::int64_t>(),
                      count[2].data<std::int64_t>(), count[3].data<std::int64_t>()};
  if (a.rows > 0)
    launch("rode_plan count", device, count_kernel, grid_for(a.rows, kThreads), kThreads, 0, row_ptr, a.rows,
           counts);
  for (const Tensor& c : count) exclusive_scan(c);
  const std::int64_t pieces = last(count[0]), residuals = last(count[1]), splits = last(count[2]);

  RodePlan plan{empty(pieces, DType::kI32),    empty(pieces, DType::kI64),     empty(pieces, DType::kI32),
                empty(residuals, DType::kI32), empty(splits + 1, DType::kI64), last(count[3])};
  const Tensor row = empty(pieces, DType::kI32), begin = empty(pieces, DType::kI64),
               split = empty(pieces, DType::kI32), residual = empty(residuals, DType::kI32);
  const auto ranks = [&](std::int64_t n) { return empty(2 * n, DType::kU8); };  // u16
  const Tensor piece_rank = ranks(pieces), residual_rank = ranks(residuals);
  const auto u16 = [](const Tensor& t) { return static_cast<std::uint16_t*>(t.raw()); };
  const Pieces unsorted{row.data<std::int32_t>(), split.data<std::int32_t>(), begin.data<std::int64_t>(),
                        u16(piece_rank)};
  if (a.rows > 0)
    launch("rode_plan fill", device, fill_kernel, grid_for(a.rows, kThreads), kThreads, 0, row_ptr,
           cluster.defined() ? cluster.data<std::uint8_t>() : nullptr, a.rows, counts, unsorted,
           residual.data<std::int32_t>(), u16(residual_rank), plan.split_slot.data<std::int64_t>());
  plan.split_slot.slice(splits, splits + 1).copy_from(Tensor::from(std::vector{plan.num_slots}));

  const int bits = kLengthBits + (cluster.defined() ? kClusterBits : 0);
  if (residuals > 0) plan.residual_row = sort_by_rank(residual_rank, residual, bits);
  if (pieces > 0) {
    const Tensor index = empty(pieces, DType::kI32);
    launch("rode_plan index", device, iota_kernel, grid_for(pieces, kThreads), kThreads, 0,
           index.data<std::int32_t>(), pieces);
    const Tensor order = sort_by_rank(piece_rank, index, bits);
    const Pieces sorted{plan.piece_row.data<std::int32_t>(), plan.piece_split.data<std::int32_t>(),
                        plan.piece_begin.data<std::int64_t>(), nullptr};
    launch("rode_plan reorder", device, reorder_kernel, grid_for(pieces, kThreads), kThreads, 0,
           order.data<std::int32_t>(), pieces, unsorted, sorted);
  }
  return plan;
}

}  // namespace rodeo::kernels::cuda
