/// A memory block of a CUDA device.
#pragma once

#include <cstddef>
#include <memory>

struct CUstream_st;

namespace rodeo::cuda {

class CudaGraphPool;

struct DeviceBlock {
  void* data = nullptr;
  std::size_t bytes = 0;
  CUstream_st* stream = nullptr;  // the block is allocated and freed in the order of this stream
  std::shared_ptr<CudaGraphPool> graph_pool = {};  // that the block belongs to; null outside of a capture
};

}  // namespace rodeo::cuda
