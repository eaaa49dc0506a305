/// The memory of captured CUDA graphs.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "core/cuda/device_block.h"
#include "core/device_type.h"
#include "core/memory_plan.h"

namespace rodeo::cuda {

/// Allocates the tensors that are created during a capture. Replays use the captured addresses, so the memory
/// lives as long as the CUDA graph and the tensors that the capture left. The capture is ordered by its
/// stream: blocks that are given back during it are used again. The blocks are parts of ordinary allocations,
/// so the graph has no allocation nodes.
class CudaGraphPool : public std::enable_shared_from_this<CudaGraphPool> {
 public:
  explicit CudaGraphPool(Device device);
  ~CudaGraphPool();
  CudaGraphPool(const CudaGraphPool&) = delete;
  CudaGraphPool& operator=(const CudaGraphPool&) = delete;

  Device device() const { return device_; }
  /// Allocates one slab of `bytes` bytes in advance. Throws OutOfMemory, as take() does.
  void reserve(std::size_t bytes);
  /// Reserves what the plan needs. The blocks that are taken next go where it says, as long as they are those
  /// of the plan.
  void reserve(const MemoryPlan& plan);
  void* take(std::size_t bytes);
  void give_back(void* data) noexcept;
  /// Takes ownership of a block that was allocated before the capture and is released during it.
  void keep(const DeviceBlock& block) noexcept;

  /// The pool of this thread's current capture; null if there is none.
  static CudaGraphPool*& active();

 private:
  using Address = char*;
  using Parts = std::map<Address, std::size_t>;  // addresses and bytes
  Address add_slab(std::size_t bytes);
  /// The free part that holds [begin, begin + bytes), or free_.end().
  Parts::iterator free_around(Address begin, std::size_t bytes);
  Address use(Parts::iterator part, Address begin, std::size_t bytes);

  Device device_;
  CUstream_st* stream_;       // uses the memory
  CUstream_st* side_stream_;  // allocates it, because stream_ is being captured
  struct Slab {
    void* data;
    CUstream_st* stream;
    std::size_t bytes;
  };
  std::vector<Slab> slabs_;
  std::vector<std::shared_ptr<CudaGraphPool>> others_;  // owners of blocks given to keep()
  Parts free_;                                          // adjacent ones are merged
  std::unordered_map<Address, std::size_t> used_;
  std::set<Address> slab_begins_;  // blocks of different slabs are never merged
  MemoryPlan plan_;
  Address planned_ = nullptr;  // where its range begins
  std::size_t taken_ = 0;
};

}  // namespace rodeo::cuda
