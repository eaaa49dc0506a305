/// The memory of one captured CUDA graph.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "core/storage.h"

namespace rodeo::cuda {

/// Hands out the blocks of the tensors that are made during a capture. A replay repeats the addresses that
/// were captured, so the memory stays with the graph and with the tensors that are left of it. Within the
/// capture, which is in the order of the stream, a block that was given back serves again. As the blocks are
/// cut from ordinary memory, the graph has no nodes that allocate or free.
class CudaGraphPool : public std::enable_shared_from_this<CudaGraphPool> {
 public:
  explicit CudaGraphPool(Device device);
  ~CudaGraphPool();
  CudaGraphPool(const CudaGraphPool&) = delete;
  CudaGraphPool& operator=(const CudaGraphPool&) = delete;

  Device device() const { return device_; }
  /// Makes room for so much in one piece. Throws Error, as take() does, where there is no memory.
  void reserve(std::size_t bytes);
  void* take(std::size_t bytes);
  void give_back(void* data) noexcept;
  /// Takes over memory from before the capture that lost its last tensor during it.
  void keep(const Storage& storage) noexcept;

  /// What this thread's tensors are made in while it captures a graph; null otherwise.
  static CudaGraphPool*& active();

 private:
  using Place = char*;
  void add_slab(std::size_t bytes);

  Device device_;
  CUstream_st* stream_;  // where the memory is used
  CUstream_st* side_;    // where it is allocated: the other is being captured
  struct Slab {
    void* data;
    CUstream_st* stream;
    std::size_t bytes;
  };
  std::vector<Slab> slabs_;
  std::vector<std::shared_ptr<CudaGraphPool>> others_;  // of which it keeps blocks
  std::map<Place, std::size_t> free_;                   // neighbours are joined
  std::unordered_map<Place, std::size_t> used_;
  std::set<Place> slab_begins_;  // blocks of different slabs are never joined
};

}  // namespace rodeo::cuda
