// RoDe's plan on the GPU: count, scan, fill, sort by length. Equal to the host's plan, array for array.
#include "ops/cuda/scan.cuh"
#include "ops/kernels.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kLengthBits = 5;  // whole blocks of a piece and the length of a short row are both below 32
static_assert((RodePlan::kSplit + RodePlan::kBlock) / RodePlan::kBlock < 1 << kLengthBits);
static_assert(RodePlan::kBlock <= 1 << kLengthBits);

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
  std::uint8_t* blocks;
};

__global__ void fill_kernel(const std::int64_t* row_ptr, std::int64_t rows, Counts at, Pieces out,
                            std::int32_t* residual_row, std::uint8_t* residual_length,
                            std::int64_t* split_slot) {
  RODEO_GRID_STRIDE(row, rows) {
    const std::int64_t begin = row_ptr[row], end = row_ptr[row + 1], pieces = RodePlan::pieces(end - begin);
    if (pieces == 0) {
      residual_row[at.residual[row]] = static_cast<std::int32_t>(row);
      residual_length[at.residual[row]] = static_cast<std::uint8_t>(end - begin);
    }
    if (pieces > 1) split_slot[at.splits[row]] = at.slots[row];
    for (std::int64_t i = 0; i < pieces; ++i) {
      const std::int64_t p = at.pieces[row] + i, first = begin + i * RodePlan::kSplit;
      out.row[p] = static_cast<std::int32_t>(row);
      out.begin[p] = first;
      out.split[p] = pieces > 1 ? static_cast<std::int32_t>(at.splits[row]) : -1;
      out.blocks[p] = static_cast<std::uint8_t>(RodePlan::piece_length(end - first) / RodePlan::kBlock);
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

// Values in the order of falling keys; equal keys keep their order.
Tensor sort_descending(const Tensor& keys, const Tensor& values) {
  const Tensor sorted_keys = Tensor::empty(keys.shape(), DType::kU8, keys.device());
  const Tensor sorted = Tensor::empty(values.shape(), DType::kI32, values.device());
  with_scratch("sort", keys.device(), [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairsDescending(
        scratch, bytes, keys.data<std::uint8_t>(), sorted_keys.data<std::uint8_t>(),
        values.data<std::int32_t>(), sorted.data<std::int32_t>(), keys.numel(), 0, kLengthBits,
        Context::of(keys.device()).stream());
  });
  return sorted;
}

}  // namespace

RodePlan rode_plan(const Csr& a) {
  const Device device = a.col.device();
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
               split = empty(pieces, DType::kI32), blocks = empty(pieces, DType::kU8);
  const Tensor residual = empty(residuals, DType::kI32), length = empty(residuals, DType::kU8);
  const Pieces unsorted{row.data<std::int32_t>(), split.data<std::int32_t>(), begin.data<std::int64_t>(),
                        blocks.data<std::uint8_t>()};
  if (a.rows > 0)
    launch("rode_plan fill", device, fill_kernel, grid_for(a.rows, kThreads), kThreads, 0, row_ptr, a.rows,
           counts, unsorted, residual.data<std::int32_t>(), length.data<std::uint8_t>(),
           plan.split_slot.data<std::int64_t>());
  plan.split_slot.slice(splits, splits + 1).copy_from(Tensor::from(std::vector{plan.num_slots}));

  if (residuals > 0) plan.residual_row = sort_descending(length, residual);
  if (pieces > 0) {
    const Tensor index = empty(pieces, DType::kI32);
    launch("rode_plan index", device, iota_kernel, grid_for(pieces, kThreads), kThreads, 0,
           index.data<std::int32_t>(), pieces);
    const Tensor order = sort_descending(blocks, index);
    const Pieces sorted{plan.piece_row.data<std::int32_t>(), plan.piece_split.data<std::int32_t>(),
                        plan.piece_begin.data<std::int64_t>(), nullptr};
    launch("rode_plan reorder", device, reorder_kernel, grid_for(pieces, kThreads), kThreads, 0,
           order.data<std::int32_t>(), pieces, unsorted, sorted);
  }
  return plan;
}

}  // namespace rodeo::kernels::cuda
