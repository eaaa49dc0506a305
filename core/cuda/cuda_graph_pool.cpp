#include "core/cuda/cuda_graph_pool.h"

#include <cuda_runtime.h>

#include <algorithm>

#include "core/allocation_info.h"
#include "core/context.h"
#include "core/cuda/check.h"
#include "core/cuda/runtime.h"
#include "core/memory_stats.h"

namespace rodeo::cuda {
namespace {

constexpr std::size_t kAlignment = MemoryPlan::kUnit;
constexpr std::size_t kSlab = std::size_t{1} << 20;  // small blocks share slabs of this size

constexpr std::size_t as_size(std::int64_t bytes) {
  return static_cast<std::size_t>(bytes);
}

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

CudaGraphPool*& CudaGraphPool::active() {
  thread_local CudaGraphPool* active = nullptr;
  return active;
}

CudaGraphPool::CudaGraphPool(Device device) : device_(device), stream_(Context::of(device).stream()) {
  check_cuda(cudaStreamCreateWithFlags(&side_stream_, cudaStreamNonBlocking), "creating a stream");
}

CudaGraphPool::~CudaGraphPool() {
  // Nothing can be freed on a stream that is being captured: the pool of that capture takes over the slabs.
  if (active() && active()->stream_ == stream_) {
    active()->slabs_.insert(active()->slabs_.end(), slabs_.begin(), slabs_.end());
    slabs_.clear();
  }
  for (const Slab& slab : slabs_) {
    cudaFreeAsync(slab.data, slab.stream);  // in stream order: after the last replay
    count_memory(device_, -static_cast<std::int64_t>(slab.bytes));
  }
  cudaStreamDestroy(side_stream_);
}

void* CudaGraphPool::take(std::size_t bytes) {
  bytes = round_up(std::max<std::size_t>(bytes, 1), kAlignment);
  const auto smallest_that_fits = [&] {
    auto best = free_.end();
    for (auto at = free_.begin(); at != free_.end(); ++at)
      if (at->second >= bytes && (best == free_.end() || at->second < best->second)) best = at;
    return best;
  };
  if (const std::size_t i = taken_++; i < plan_.sizes.size() && bytes == as_size(plan_.sizes[i])) {
    const Address begin = planned_ + plan_.offsets[i];
    if (const auto part = free_around(begin, bytes); part != free_.end()) return use(part, begin, bytes);
  }
  auto at = smallest_that_fits();
  if (at == free_.end()) {
    add_slab(round_up(bytes, bytes < kSlab ? kSlab : kAlignment));
    at = smallest_that_fits();
  }
  return use(at, at->first, bytes);
}

CudaGraphPool::Parts::iterator CudaGraphPool::free_around(Address begin, std::size_t bytes) {
  auto part = free_.upper_bound(begin);
  if (part == free_.begin()) return free_.end();
  --part;
  return begin + bytes <= part->first + part->second ? part : free_.end();
}

CudaGraphPool::Address CudaGraphPool::use(Parts::iterator part, Address begin, std::size_t bytes) {
  const auto [first, room] = *part;
  free_.erase(part);
  if (first < begin) free_.emplace(first, begin - first);
  if (begin + bytes < first + room) free_.emplace(begin + bytes, first + room - begin - bytes);
  used_.emplace(begin, bytes);
  return begin;
}

void CudaGraphPool::reserve(std::size_t bytes) {
  add_slab(round_up(bytes, kSlab));
}

void CudaGraphPool::reserve(const MemoryPlan& plan) {
  if (plan.bytes == 0) return;
  planned_ = add_slab(round_up(as_size(plan.bytes), kSlab));
  plan_ = plan;
}

void CudaGraphPool::give_back(void* data) noexcept {
  const auto at = used_.find(static_cast<Address>(data));
  if (at == used_.end()) return;
  auto [begin, bytes] = *at;
  used_.erase(at);
  const auto after = free_.find(begin + bytes);
  if (after != free_.end() && !slab_begins_.contains(after->first)) {
    bytes += after->second;
    free_.erase(after);
  }
  auto before = free_.lower_bound(begin);
  if (before != free_.begin() && !slab_begins_.contains(begin)) {
    --before;
    if (before->first + before->second == begin) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace(begin, bytes);
}

void CudaGraphPool::keep(const DeviceBlock& block) noexcept {
  if (block.graph_pool) return others_.push_back(block.graph_pool);
  slabs_.push_back({block.data, block.stream, block.bytes});
  count_memory(device_, static_cast<std::int64_t>(block.bytes));
}

CudaGraphPool::Address CudaGraphPool::add_slab(std::size_t bytes) {
  void* data = allocate_on(side_stream_, bytes);
  if (!data) fail_out_of_memory(bytes, device_);
  check_cuda(cudaStreamSynchronize(side_stream_),
             "allocating memory for a CUDA graph");  // replays run on another stream
  slabs_.push_back({data, stream_, bytes});
  count_memory(device_, static_cast<std::int64_t>(bytes));
  slab_begins_.insert(static_cast<Address>(data));
  free_.emplace(static_cast<Address>(data), bytes);
  return static_cast<Address>(data);
}

}  // namespace rodeo::cuda
