// Edge lists to CSR (ops/convert.h): pack (row, column) into one key, radix sort the bits in use, drop
// duplicates and self loops as asked, and find the row boundaries by binary search.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include "core/cuda/index_fault.cuh"
#include "ops/cuda/device/first_found.cuh"
#include "ops/cuda/device/scan.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cuda {
namespace {

using Key = unsigned long long;
constexpr int kThreads = 256;

int bits_for(std::int64_t count) {
  int bits = 0;
  while (bits < 62 && (std::int64_t{1} << bits) < count) ++bits;
  return bits;
}

struct Packing {
  int col_bits;
  __device__ Key pack(std::int64_t row, std::int64_t col) const {
    return static_cast<Key>(row) << col_bits | static_cast<Key>(col);
  }
  __device__ std::int64_t row(Key key) const { return static_cast<std::int64_t>(key >> col_bits); }
  __device__ std::int64_t col(Key key) const {
    return static_cast<std::int64_t>(key & ((Key{1} << col_bits) - 1));
  }
};

// Keys of the edges, then of their reverses if mirrored, then of one self loop per node, with id -1.
// Grid-stride.
template <class I>
__global__ void pack_kernel(const I* row, const I* col, std::int64_t edges, std::int64_t mirrored,
                            std::int64_t total, Packing packing, Key* keys, std::int64_t* ids) {
  RODEO_GRID_STRIDE(i, total) {
    const bool loop = i >= edges + mirrored, mirror = !loop && i >= edges;
    const std::int64_t e = mirror ? i - edges : i, node = i - edges - mirrored;
    const std::int64_t from = loop     ? node
                              : mirror ? col[e]
                                       : row[e],
                       to = loop     ? node
                            : mirror ? row[e]
                                     : col[e];
    keys[i] = packing.pack(from, to);
    if (ids) ids[i] = loop ? -1 : e;
  }
}

struct Rule {
  bool unique, add_loops, drop_loops;
};

// Equal keys are adjacent in input order, so an added self loop is the last of its run. Grid-stride.
__global__ void flag_kernel(const Key* keys, std::int64_t n, Packing packing, Rule rule, std::uint8_t* keep) {
  RODEO_GRID_STRIDE(i, n) {
    const Key key = keys[i];
    const bool loop = packing.row(key) == packing.col(key);
    const bool repeats = i > 0 && keys[i - 1] == key, ends_run = i + 1 == n || keys[i + 1] != key;
    const bool redundant = repeats && (rule.unique || (rule.add_loops && loop && ends_run));
    keep[i] = !redundant && !(rule.drop_loops && loop);
  }
}

__global__ void row_ptr_kernel(const Key* keys, std::int64_t n, Packing packing, std::int64_t rows,
                               std::int64_t* row_ptr) {
  RODEO_GRID_STRIDE(row, rows + 1) {
    const Key bound = packing.pack(row, 0);
    std::int64_t low = 0, high = n;  // first key >= bound
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (keys[middle] < bound)
        low = middle + 1;
      else
        high = middle;
    }
    row_ptr[row] = low;
  }
}

__global__ void unpack_kernel(const Key* keys, std::int64_t n, Packing packing, std::int32_t* col) {
  RODEO_GRID_STRIDE(i, n) col[i] = static_cast<std::int32_t>(packing.col(keys[i]));
}

// Kernels with a warp per row: grid_of_rows(rows), block kThreads.
constexpr int kRowsPerBlock = kThreads / kWarp;

__device__ std::int64_t warp_row() {
  return static_cast<std::int64_t>(blockIdx.x) * kRowsPerBlock + threadIdx.x / kWarp;
}

dim3 grid_of_rows(std::int64_t rows) {
  return dim3(static_cast<unsigned>(ceil_div(rows, kRowsPerBlock)));
}

__global__ void edge_rows_kernel(const std::int64_t* row_ptr, std::int64_t rows, std::int32_t* out) {
  const std::int64_t row = warp_row();
  if (row >= rows) return;
  for (std::int64_t e = row_ptr[row] + threadIdx.x % kWarp; e < row_ptr[row + 1]; e += kWarp)
    out[e] = static_cast<std::int32_t>(row);
}

__global__ void unsorted_kernel(const std::int64_t* row_ptr, const std::int32_t* col, std::int64_t rows,
                                Position* first) {
  const std::int64_t row = warp_row();
  if (row >= rows) return;
  for (std::int64_t e = row_ptr[row] + 1 + threadIdx.x % kWarp; e < row_ptr[row + 1]; e += kWarp)
    if (col[e - 1] > col[e]) atomicMin(first, static_cast<Position>(row));
}

// Row i is node first_row + i. place: where each row's self loop belongs, or -1 if the row has it. length: of
// the row with its self loop. One thread per row, grid-stride.
__global__ void find_loops_kernel(const std::int64_t* row_ptr, const std::int32_t* col, std::int64_t rows,
                                  std::int64_t first_row, std::int64_t* place, std::int64_t* length) {
  RODEO_GRID_STRIDE(row, rows) {
    const std::int64_t node = first_row + row;
    std::int64_t low = row_ptr[row], high = row_ptr[row + 1];
    const std::int64_t begin = low, end = high;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (col[middle] < node)
        low = middle + 1;
      else
        high = middle;
    }
    const bool present = low < end && col[low] == node;
    place[row] = present ? -1 : low;
    length[row] = end - begin + (present ? 0 : 1);
  }
}

__global__ void insert_loops_kernel(const std::int64_t* row_ptr, const std::int32_t* col,
                                    const std::int64_t* place, const std::int64_t* looped_ptr,
                                    std::int64_t rows, std::int64_t first_row, std::int32_t* looped_col,
                                    std::int64_t* ids) {
  const std::int64_t row = warp_row();
  if (row >= rows) return;
  const std::int64_t shift = looped_ptr[row] - row_ptr[row], loop = place[row];
  const int lane = threadIdx.x % kWarp;
  for (std::int64_t e = row_ptr[row] + lane; e < row_ptr[row + 1]; e += kWarp) {
    const std::int64_t to = e + shift + (loop >= 0 && e >= loop);
    looped_col[to] = col[e];
    ids[to] = e;
  }
  if (lane == 0 && loop >= 0) {
    looped_col[loop + shift] = static_cast<std::int32_t>(first_row + row);
    ids[loop + shift] = -1;
  }
}

template <class T>
__global__ void take_kernel(const T* values, std::int64_t rows, const std::int64_t* ids, std::int64_t size,
                            std::int64_t n, T missing, T* out, IndexCheck check) {
  RODEO_GRID_STRIDE(i, size) {
    const std::int64_t id = ids[i / n];
    out[i] = id == -1 || !is_index(id, rows, i / n, check) ? missing : values[id * n + i % n];
  }
}

template <class T>
Tensor select(const Tensor& values, const Tensor& keep, const Tensor& count) {
  const Tensor out = Tensor::empty(values.shape(), values.dtype(), values.device());
  with_scratch("select", values.device(), [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceSelect::Flagged(scratch, bytes, values.data<T>(), keep.data<std::uint8_t>(),
                                      out.data<T>(), count.data<std::int64_t>(), values.numel(),
                                      Context::of(values.device()).stream());
  });
  return out;
}

}  // namespace

SortedEdges coo_to_csr(const Tensor& row, const Tensor& col, std::int64_t rows, std::int64_t cols,
                       const CooOptions& options) {
  const Device device = row.device();
  const cudaStream_t stream = Context::of(device).stream();
  const std::int64_t edges = row.numel(), mirrored = options.symmetrize ? edges : 0;
  const std::int64_t total = edges + mirrored + (options.self_loops == SelfLoops::kAdd ? rows : 0);
  const Packing packing{bits_for(cols)};

  Tensor keys = Tensor::empty({total}, DType::kI64, device), ids;
  if (options.edge_ids) ids = Tensor::empty({total}, DType::kI64, device);
  const auto pack = [&]<class I>(I) {
    launch("pack edges", device, pack_kernel<I>, grid_for(total, kThreads), kThreads, 0, row.data<I>(),
           col.data<I>(), edges, mirrored, total, packing, static_cast<Key*>(keys.raw()),
           static_cast<std::int64_t*>(ids.raw()));
  };
  if (row.dtype() == DType::kI64)
    pack(std::int64_t{});
  else
    pack(std::int32_t{});

  {
    Tensor other_keys = Tensor::empty({total}, DType::kI64, device), other_ids;
    cub::DoubleBuffer<Key> key_buffers(static_cast<Key*>(keys.raw()), static_cast<Key*>(other_keys.raw()));
    const int bits = packing.col_bits + bits_for(rows);
    if (options.edge_ids) {
      other_ids = Tensor::empty({total}, DType::kI64, device);
      cub::DoubleBuffer<std::int64_t> id_buffers(ids.data<std::int64_t>(), other_ids.data<std::int64_t>());
      with_scratch("sort edges", device, [&](void* scratch, std::size_t& bytes) {
        return cub::DeviceRadixSort::SortPairs(scratch, bytes, key_buffers, id_buffers, total, 0, bits,
                                               stream);
      });
      if (id_buffers.Current() != ids.raw()) std::swap(ids, other_ids);
    } else {
      with_scratch("sort edges", device, [&](void* scratch, std::size_t& bytes) {
        return cub::DeviceRadixSort::SortKeys(scratch, bytes, key_buffers, total, 0, bits, stream);
      });
    }
    if (key_buffers.Current() != keys.raw()) std::swap(keys, other_keys);
  }

  const Rule rule{options.drop_duplicates || options.symmetrize, options.self_loops == SelfLoops::kAdd,
                  options.self_loops == SelfLoops::kDrop};
  if (total > 0 && (rule.unique || rule.add_loops || rule.drop_loops)) {
    const Tensor keep = Tensor::empty({total}, DType::kU8, device),
                 count = Tensor::empty({}, DType::kI64, device);
    launch("flag edges", device, flag_kernel, grid_for(total, kThreads), kThreads, 0,
           static_cast<Key*>(keys.raw()), total, packing, rule, keep.data<std::uint8_t>());
    if (options.edge_ids) ids = select<std::int64_t>(ids, keep, count);
    keys = select<std::int64_t>(keys, keep, count);
    const std::int64_t kept = count.to_vector<std::int64_t>()[0];
    keys = keys.slice(0, kept);
    if (options.edge_ids && kept < total) ids = ids.slice(0, kept).clone();  // frees the longer array
  }

  const std::int64_t nnz = keys.numel();
  SortedEdges out{
      {rows, cols, Tensor::empty({rows + 1}, DType::kI64, device), Tensor::empty({nnz}, DType::kI32, device)},
      ids};
  launch("row boundaries", device, row_ptr_kernel, grid_for(rows + 1, kThreads), kThreads, 0,
         static_cast<const Key*>(keys.raw()), nnz, packing, rows, out.csr.row_ptr.data<std::int64_t>());
  launch("unpack columns", device, unpack_kernel, grid_for(nnz, kThreads), kThreads, 0,
         static_cast<const Key*>(keys.raw()), nnz, packing, out.csr.col.data<std::int32_t>());
  return out;
}

void edge_rows(const Csr& a, const Tensor& rows) {
  launch("edge_rows", rows.device(), edge_rows_kernel, grid_of_rows(a.rows), kThreads, 0,
         a.row_ptr.data<std::int64_t>(), a.rows, rows.data<std::int32_t>());
}

std::int64_t first_unsorted_row(const Csr& a) {
  return first_found(a.col.device(), [&](Position* first) {
    launch("order check", a.col.device(), unsorted_kernel, grid_of_rows(a.rows), kThreads, 0,
           a.row_ptr.data<std::int64_t>(), a.col.data<std::int32_t>(), a.rows, first);
  });
}

SortedEdges add_self_loops(const Csr& a, std::int64_t first_row) {
  const Device device = a.col.device();
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
  const auto* col = a.col.data<std::int32_t>();
  const Tensor place = Tensor::empty({a.rows}, DType::kI64, device);
  SortedEdges out{{a.rows, a.cols, Tensor::empty({a.rows + 1}, DType::kI64, device), {}}, {}};
  auto* looped_ptr = out.csr.row_ptr.data<std::int64_t>();
  launch("find self loops", device, find_loops_kernel, grid_for(a.rows, kThreads), kThreads, 0, row_ptr, col,
         a.rows, first_row, place.data<std::int64_t>(), looped_ptr);
  exclusive_scan(out.csr.row_ptr);
  const std::int64_t nnz = last(out.csr.row_ptr);
  out.csr.col = Tensor::empty({nnz}, DType::kI32, device);
  out.edge_ids = Tensor::empty({nnz}, DType::kI64, device);
  launch("insert self loops", device, insert_loops_kernel, grid_of_rows(a.rows), kThreads, 0, row_ptr, col,
         place.data<std::int64_t>(), looped_ptr, a.rows, first_row, out.csr.col.data<std::int32_t>(),
         out.edge_ids.data<std::int64_t>());
  return out;
}

void take(const Tensor& values, const Tensor& ids, double missing, const Tensor& out) {
  const Tensor fallback = Tensor::full({}, missing, values.dtype());
  dispatch_all(values.dtype(), [&]<class T>(T) {
    using D = device_t<T>;
    launch("take", out.device(), take_kernel<D>, grid_for(out.numel(), kThreads), kThreads, 0,
           device_data<T>(values), values.dim(0), ids.data<std::int64_t>(), out.numel(),
           out.numel() / ids.numel(), *device_data<T>(fallback), device_data<T>(out),
           index_check(out.device(), "take", "ids"));
  });
}

}  // namespace rodeo::kernels::cuda
