// RoDe's plan on the GPU: count, scan, fill, sort by length. All arrays are equal to those of the host's
// plan.
#include <bit>
#include <cub/device/device_radix_sort.cuh>

#include "ops/cuda/device/scan.cuh"
#include "ops/kernels/sparse.h"
#include "ops/plan/row_clusters.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kClusterBits = 8;
static_assert(RowClusters::kClusters <= 1 << kClusterBits);

/// Sort keys: the cluster, then the longest first, pieces by their whole blocks, residual rows by length.
struct Ranks {
  std::int32_t block;  // N_B
  int length_bits;     // of the second key
  bool has_clusters;

  Ranks(const RodeOptions& options, bool clusters)
      : block(static_cast<std::int32_t>(options.block)),
        length_bits(std::bit_width(static_cast<std::uint64_t>(RodePlan::longest_rank(options)))),
        has_clusters(clusters) {}
  int bits() const { return length_bits + (has_clusters ? kClusterBits : 0); }
  __device__ std::uint32_t of(std::uint32_t cluster, std::int32_t length, bool is_piece) const {
    const auto rank = static_cast<std::uint32_t>(is_piece ? length / block : length);
    return cluster << length_bits | ((1U << length_bits) - 1 - rank);
  }
};
static_assert(RodePlan::kMaxSplit / 8 < std::int64_t{1} << (32 - kClusterBits), "keys have 32 bits");

struct Counts {  // [rows + 1] each; scanned in place
  std::int64_t *pieces, *residual, *splits, *slots;
};

// grid-stride over rows.
__global__ void count_kernel(const std::int64_t* row_ptr, std::int64_t rows, RodeOptions options,
                             Counts counts) {
  RODEO_GRID_STRIDE(row, rows) {
    const std::int64_t pieces = RodePlan::pieces(row_ptr[row + 1] - row_ptr[row], options);
    counts.pieces[row] = pieces;
    counts.residual[row] = pieces == 0;
    counts.splits[row] = pieces > 1;
    counts.slots[row] = pieces > 1 ? pieces : 0;
  }
}

/// Pieces or residual rows.
struct Parts {
  std::int32_t *row, *length;
  std::int64_t* begin;
  std::int32_t* split;  // null for residual rows
};

__device__ void put(const Parts& out, std::int64_t at, std::int64_t row, std::int64_t begin,
                    std::int64_t length, std::int64_t split) {
  out.row[at] = static_cast<std::int32_t>(row);
  out.begin[at] = begin;
  out.length[at] = static_cast<std::int32_t>(length);
  if (out.split) out.split[at] = static_cast<std::int32_t>(split);
}

// grid-stride over rows.
__global__ void fill_kernel(const std::int64_t* row_ptr, std::int64_t rows, RodeOptions options, Counts at,
                            Parts piece, Parts residual, std::int64_t* split_slot) {
  RODEO_GRID_STRIDE(row, rows) {
    const std::int64_t begin = row_ptr[row], end = row_ptr[row + 1],
                       pieces = RodePlan::pieces(end - begin, options);
    if (pieces == 0) put(residual, at.residual[row], row, begin, end - begin, -1);
    if (pieces > 1) split_slot[at.splits[row]] = at.slots[row];
    for (std::int64_t i = 0; i < pieces; ++i) {
      const std::int64_t first = begin + i * options.split;
      put(piece, at.pieces[row] + i, row, first, RodePlan::length_of_piece(end - first, options),
          pieces > 1 ? at.splits[row] : -1);
    }
  }
}

// grid-stride over parts.
__global__ void rank_kernel(const Parts parts, std::int64_t n, const std::uint8_t* cluster, const Ranks ranks,
                            std::uint32_t* rank, std::int32_t* index) {
  RODEO_GRID_STRIDE(i, n) {
    rank[i] = ranks.of(cluster ? cluster[parts.row[i]] : 0, parts.length[i], parts.split != nullptr);
    index[i] = static_cast<std::int32_t>(i);
  }
}

// grid-stride over parts.
__global__ void reorder_kernel(const std::int32_t* order, std::int64_t n, Parts from, Parts to) {
  RODEO_GRID_STRIDE(i, n) {
    const std::int32_t j = order[i];
    put(to, i, from.row[j], from.begin[j], from.length[j], from.split ? from.split[j] : -1);
  }
}

// grid 1, block 2: how many of n lengths, longest first, are over 16 and over 8.
__global__ void count_over_kernel(const std::int32_t* length, std::int64_t n, std::int64_t* over) {
  const int bound = threadIdx.x == 0 ? 16 : 8;
  std::int64_t low = 0, high = n;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (length[middle] > bound)
      low = middle + 1;
    else
      high = middle;
  }
  over[threadIdx.x] = low;
}

struct PartTensors {
  Tensor row, length, begin, split;

  PartTensors(std::int64_t n, bool pieces, Device device)
      : row(Tensor::empty({n}, DType::kI32, device)),
        length(Tensor::empty({n}, DType::kI32, device)),
        begin(Tensor::empty({n}, DType::kI64, device)) {
    if (pieces) split = Tensor::empty({n}, DType::kI32, device);
  }
  Parts view() const {
    return {row.data<std::int32_t>(), length.data<std::int32_t>(), begin.data<std::int64_t>(),
            static_cast<std::int32_t*>(split.raw())};
  }

  /// By rank; the sort is stable.
  PartTensors sorted(const Tensor& cluster, const Ranks& ranks) const {
    const Device device = row.device();
    const std::int64_t n = row.numel();
    PartTensors out(n, split.defined(), device);
    if (n == 0) return out;
    const auto indices = [&] { return Tensor::empty({n}, DType::kI32, device); };
    const auto u32 = [](const Tensor& t) { return static_cast<std::uint32_t*>(t.raw()); };
    const Tensor index = indices(), order = indices(), rank = indices(), sorted_rank = indices();
    launch("rode_plan rank", device, rank_kernel, grid_for(n, kThreads), kThreads, 0, view(), n,
           static_cast<const std::uint8_t*>(cluster.raw()), ranks, u32(rank), index.data<std::int32_t>());
    with_scratch("sort", device, [&](void* scratch, std::size_t& bytes) {
      return cub::DeviceRadixSort::SortPairs(scratch, bytes, u32(rank), u32(sorted_rank),
                                             index.data<std::int32_t>(), order.data<std::int32_t>(), n, 0,
                                             ranks.bits(), Context::of(device).stream());
    });
    launch("rode_plan reorder", device, reorder_kernel, grid_for(n, kThreads), kThreads, 0,
           order.data<std::int32_t>(), n, view(), out.view());
    return out;
  }
};

}  // namespace

RodePlan rode_plan(const Csr& a, const Tensor& cluster, const RodeOptions& options) {
  const Device device = a.col.device();
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
  Tensor count[4];
  for (Tensor& c : count) c = Tensor::empty({a.rows + 1}, DType::kI64, device);
  const Counts counts{count[0].data<std::int64_t>(), count[1].data<std::int64_t>(),
                      count[2].data<std::int64_t>(), count[3].data<std::int64_t>()};
  if (a.rows > 0)
    launch("rode_plan count", device, count_kernel, grid_for(a.rows, kThreads), kThreads, 0, row_ptr, a.rows,
           options, counts);
  for (const Tensor& c : count) exclusive_scan(c);
  const std::int64_t splits = last(count[2]), slots = last(count[3]);

  PartTensors pieces(last(count[0]), true, device), residual(last(count[1]), false, device);
  const Tensor split_slot = Tensor::empty({splits + 1}, DType::kI64, device);
  if (a.rows > 0)
    launch("rode_plan fill", device, fill_kernel, grid_for(a.rows, kThreads), kThreads, 0, row_ptr, a.rows,
           options, counts, pieces.view(), residual.view(), split_slot.data<std::int64_t>());
  split_slot.slice(splits, splits + 1).copy_from(Tensor::from(std::vector{slots}));
  const Ranks ranks(options, cluster.defined());
  pieces = pieces.sorted(cluster, ranks);
  residual = residual.sorted(cluster, ranks);
  std::vector<std::int64_t> over{0, 0};
  if (!cluster.defined()) {
    const Tensor found = Tensor::empty({2}, DType::kI64, device);
    launch("rode_plan count", device, count_over_kernel, dim3(1), dim3(2), 0,
           residual.length.data<std::int32_t>(), residual.length.numel(), found.data<std::int64_t>());
    over = found.to_vector<std::int64_t>();
  }
  return {pieces.row,     pieces.begin,    pieces.length, pieces.split, residual.row,
          residual.begin, residual.length, split_slot,    slots,        options.split,
          options.block,  over[0],         over[1]};
}

}  // namespace rodeo::kernels::cuda
