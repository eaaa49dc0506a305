#include "core/cuda/device_memory.h"

#include <cuda_runtime.h>

#include "core/allocation_info.h"
#include "core/context.h"
#include "core/cuda/check.h"
#include "core/cuda/cuda_graph_pool.h"
#include "core/cuda/runtime.h"
#include "core/memory_plan.h"

namespace rodeo::cuda {

DeviceBlock allocate(std::size_t bytes, Device device) {
  DeviceBlock block{.bytes = bytes, .stream = Context::of(device).stream()};
  CudaGraphPool* const capturing = CudaGraphPool::active();
  if (capturing && capturing->device() == device) {
    block.data = capturing->take(bytes);
    block.graph_pool = capturing->shared_from_this();
  } else {
    block.data = allocate_on(block.stream, bytes);
    if (!block.data) fail_out_of_memory(bytes, device);
  }
  if (MemoryTrace* const trace = MemoryTrace::active()) trace->allocated(block.data, bytes, device);
  return block;
}

void release(const DeviceBlock& block, Device device) noexcept {
  if (MemoryTrace* const trace = MemoryTrace::active()) trace->freed(block.data);
  CudaGraphPool* const capturing = CudaGraphPool::active();
  if (capturing && block.graph_pool.get() == capturing)
    capturing->give_back(block.data);
  else if (capturing && capturing->device() == device)
    capturing->keep(block);  // kernels captured so far may read it in every replay
  else if (!block.graph_pool)
    cudaFreeAsync(block.data, block.stream);  // fails only while the process ends
  // Otherwise the pool keeps the block: replays of the graph write to it.
}

void poison(const DeviceBlock& block) {
  check_cuda(cudaMemsetAsync(block.data, 0xff, block.bytes, block.stream), "poisoning memory");
}

}  // namespace rodeo::cuda
