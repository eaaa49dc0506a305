#include <zlib.h>

#include <algorithm>
#include <new>
#include <vector>

#include "datasets/hdf5/hdf5_api.h"

namespace rodeo::hdf5 {
namespace {

constexpr std::int64_t kBatchBytes = std::int64_t{64} << 20;  // of decompressed chunks in flight
constexpr int kMaxFilters = 2;

struct Plan {
  std::array<std::int64_t, 2> chunk{1, 1};
  std::vector<H5Z_filter_t> filters;  // in the order of compression
  std::size_t width = 0;
  std::int64_t elements() const { return chunk[0] * chunk[1]; }
  std::int64_t bytes() const { return elements() * static_cast<std::int64_t>(width); }
};

struct PackedChunk {
  std::array<std::int64_t, 2> at{};  // position of its first element
  std::uint32_t skipped = 0;         // bit i: filter i was not applied
  std::vector<unsigned char> bytes;
};

bool make_plan(hid_t dataset, int rank, std::size_t width, Plan& plan) {
  const Hdf5Id create = own(H5Dget_create_plist(dataset), H5Pclose);
  if (rank < 1 || rank > 2 || H5Pget_layout(*create) != H5D_CHUNKED) return false;
  const int count = H5Pget_nfilters(*create);
  if (count < 0 || count > kMaxFilters) return false;
  for (int i = 0; i < count; ++i) {
    std::size_t no_parameters = 0;
    const H5Z_filter_t filter =
        H5Pget_filter2(*create, i, nullptr, &no_parameters, nullptr, 0, nullptr, nullptr);
    if (filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_DEFLATE) return false;
    plan.filters.push_back(filter);
  }
  std::array<hsize_t, 2> sizes{};
  if (H5Pget_chunk(*create, 2, sizes.data()) != rank) return false;
  for (int i = 0; i < rank; ++i) plan.chunk[2 - rank + i] = static_cast<std::int64_t>(sizes[i]);
  plan.width = width;
  return plan.bytes() <= kBatchBytes;
}

void unshuffle(const std::vector<unsigned char>& from, std::size_t width, std::vector<unsigned char>& to) {
  const std::size_t n = from.size() / width;
  to.resize(from.size());
  for (std::size_t b = 0; b < width; ++b)
    for (std::size_t i = 0; i < n; ++i) to[i * width + b] = from[b * n + i];
}

enum class Unpacked { kWhole, kDamaged, kNoMemory };

// Decompresses a chunk in place. An exception must not leave a thread of OpenMP.
Unpacked unpack(const Plan& plan, PackedChunk& chunk, std::vector<unsigned char>& spare) noexcept try {
  const auto whole = static_cast<std::size_t>(plan.bytes());
  for (int i = static_cast<int>(plan.filters.size()) - 1; i >= 0; --i) {
    if (chunk.skipped >> i & 1) continue;
    if (plan.filters[i] == H5Z_FILTER_DEFLATE) {
      spare.resize(whole);
      uLongf length = whole;
      const int status = uncompress(spare.data(), &length, chunk.bytes.data(), chunk.bytes.size());
      if (status == Z_MEM_ERROR) return Unpacked::kNoMemory;
      if (status != Z_OK || length != whole) return Unpacked::kDamaged;
    } else {
      if (chunk.bytes.size() != whole) return Unpacked::kDamaged;
      unshuffle(chunk.bytes, plan.width, spare);
    }
    chunk.bytes.swap(spare);
  }
  return chunk.bytes.size() == whole ? Unpacked::kWhole : Unpacked::kDamaged;
} catch (const std::bad_alloc&) {
  return Unpacked::kNoMemory;
}

void place(const Plan& plan, const PackedChunk& chunk, const Block& block, unsigned char* out) {
  std::array<std::int64_t, 2> begin{}, end{};
  for (int i = 0; i < 2; ++i) {
    begin[i] = std::max(chunk.at[i], block.start[i]);
    end[i] = std::min(chunk.at[i] + plan.chunk[i], block.start[i] + block.count[i]);
  }
  const auto width = static_cast<std::int64_t>(plan.width);
  for (std::int64_t row = begin[0]; row < end[0]; ++row) {
    const unsigned char* from =
        &chunk.bytes[((row - chunk.at[0]) * plan.chunk[1] + begin[1] - chunk.at[1]) * width];
    std::copy_n(from, (end[1] - begin[1]) * width,
                out + ((row - block.start[0]) * block.count[1] + begin[1] - block.start[1]) * width);
  }
}

void fetch(hid_t dataset, int rank, PackedChunk& chunk, const std::string& where) {
  const hsize_t matrix[] = {static_cast<hsize_t>(chunk.at[0]), static_cast<hsize_t>(chunk.at[1])};
  const hsize_t* at = matrix + (2 - rank);
  hsize_t bytes = 0;
  check_call(H5Dget_chunk_storage_size(dataset, at, &bytes), where, " cannot be read");
  // gzip never doubles the size of a chunk: a larger size is damaged.
  check(bytes > 0 && bytes <= static_cast<hsize_t>(2 * kBatchBytes), where,
        " cannot be read (a chunk declares ", bytes, " bytes)");
  chunk.bytes.resize(bytes);
  check_call(H5Dread_chunk(dataset, H5P_DEFAULT, at, &chunk.skipped, chunk.bytes.data()), where,
             " cannot be read");
}

// The positions of the chunks that a block touches.
std::vector<std::array<std::int64_t, 2>> chunks_of(const Block& block, const Plan& plan) {
  const auto first = [&](int i) { return block.start[i] / plan.chunk[i] * plan.chunk[i]; };
  std::vector<std::array<std::int64_t, 2>> places;
  for (std::int64_t r = first(0); r < block.start[0] + block.count[0]; r += plan.chunk[0])
    for (std::int64_t c = first(1); c < block.start[1] + block.count[1]; c += plan.chunk[1])
      places.push_back({r, c});
  return places;
}

}  // namespace

bool fetch_chunks(std::int64_t dataset, int rank, const Block& block, std::size_t width,
                  const std::string& where) {
  Plan plan;
  if (!make_plan(dataset, rank, width, plan)) return false;
  PackedChunk chunk;
  for (const auto& at : chunks_of(block, plan)) {
    chunk.at = at;
    fetch(dataset, rank, chunk, where);
  }
  return true;
}

bool read_chunks(std::int64_t dataset, int rank, const Block& block, std::size_t width, void* out,
                 const std::string& where) {
  Plan plan;
  if (!make_plan(dataset, rank, width, plan)) return false;
  const std::vector<std::array<std::int64_t, 2>> places = chunks_of(block, plan);
  const std::int64_t batch = std::max<std::int64_t>(1, kBatchBytes / plan.bytes());
  const auto total = static_cast<std::int64_t>(places.size());
  for (std::int64_t begin = 0; begin < total; begin += batch) {
    std::vector<PackedChunk> chunks(static_cast<std::size_t>(std::min(batch, total - begin)));
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      chunks[i].at = places[begin + i];
      fetch(dataset, rank, chunks[i], where);
    }
    const auto count = static_cast<std::int64_t>(chunks.size());
    int damaged = 0, without_memory = 0;
#pragma omp parallel reduction(+ : damaged, without_memory)
    {
      std::vector<unsigned char> spare;
#pragma omp for schedule(dynamic)
      for (std::int64_t i = 0; i < count; ++i) {
        const Unpacked unpacked = unpack(plan, chunks[i], spare);
        if (unpacked == Unpacked::kWhole) place(plan, chunks[i], block, static_cast<unsigned char*>(out));
        damaged += unpacked == Unpacked::kDamaged;
        without_memory += unpacked == Unpacked::kNoMemory;
        std::vector<unsigned char>().swap(chunks[i].bytes);
      }
    }
    check(damaged == 0, where, " cannot be read (inflate() failed)");
    if (without_memory > 0) throw std::bad_alloc();
  }
  return true;
}

}  // namespace rodeo::hdf5
