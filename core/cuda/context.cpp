#include "core/context.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/allocation_info.h"
#include "core/cuda/check.h"
#include "core/cuda/check_libraries.h"
#include "core/cuda/presence.h"
#include "core/cuda/runtime.h"
#include "core/cuda/wait.h"
#include "core/external_allocator.h"
#if RODEO_WITH_CUDNN
#include <cudnn.h>
#endif

namespace rodeo {

using cuda::check_cublas;
using cuda::check_cuda;
using cuda::check_cusparse;

namespace {
thread_local int current = -1;  // the device that Context::of() selected last
}  // namespace

void Context::forget_current() {
  current = -1;
}

Context& Context::of(Device device) {
  // Never destroyed, because tensors of static lifetime may be freed later.
  thread_local std::vector<Context*> contexts;
  const int index = device.index;
  if (current == index) return *contexts[index];
  check(device.is_cuda() && index >= 0 && index < cuda::device_count(), "[context] no such device: ", device,
        " (", cuda::device_count(), " CUDA devices present)");
  check_cuda(cudaSetDevice(index), "selecting the device");
  if (contexts.size() <= static_cast<std::size_t>(index)) contexts.resize(index + 1);
  if (!contexts[index]) contexts[index] = new Context(device);
  current = index;
  return *contexts[index];
}

Context::Context(Device device) : device_(device) {
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    check_cuda(cudaDeviceGetAttribute(&value, which, device.index), "reading a device attribute");
    return value;
  };
  const auto bytes = [&](cudaDeviceAttr which) { return static_cast<std::size_t>(attribute(which)); };
  properties_ = {.compute_capability = 10 * attribute(cudaDevAttrComputeCapabilityMajor) +
                                       attribute(cudaDevAttrComputeCapabilityMinor),
                 .num_multiprocessors = attribute(cudaDevAttrMultiProcessorCount),
                 .threads_per_multiprocessor = attribute(cudaDevAttrMaxThreadsPerMultiProcessor),
                 .l2_bytes = bytes(cudaDevAttrL2CacheSize),
                 .shared_bytes_per_block = bytes(cudaDevAttrMaxSharedMemoryPerBlockOptin),
                 .shared_bytes_per_multiprocessor = bytes(cudaDevAttrMaxSharedMemoryPerMultiprocessor)};
  cuda::set_up_pool(device, stream_);
}

void Context::synchronize() const {
  cuda::wait_for(stream_, "running kernels");
}

bool Context::is_capturing() const {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check_cuda(cudaStreamIsCapturing(stream_, &status), "reading the capture status");
  return status != cudaStreamCaptureStatusNone;
}

cublasLtContext* Context::cublaslt() {
  if (!cublaslt_) check_cublas(cublasLtCreate(&cublaslt_), "creating a cuBLASLt handle");
  return cublaslt_;
}

cudnnContext* Context::cudnn() {
#if RODEO_WITH_CUDNN
  if (!cudnn_) {
    cudnnStatus_t status = cudnnCreate(&cudnn_);
    if (status == CUDNN_STATUS_SUCCESS) status = cudnnSetStream(cudnn_, stream_);
    check(status == CUDNN_STATUS_SUCCESS, "[cudnn] creating a handle: ", cudnnGetErrorString(status));
  }
  return cudnn_;
#else
  fail("[cudnn] this build has no cuDNN: install it and configure again");
#endif
}

cusparseContext* Context::cusparse() {
  if (!cusparse_) check_cusparse(cusparseCreate(&cusparse_), "creating a handle");
  check_cusparse(cusparseSetStream(cusparse_, stream_), "setting the stream");
  return cusparse_;
}

void* Context::scratch(std::size_t bytes) {
  void* data = nullptr;
  if (ExternalAllocator* const external = external_allocator(device_)) {
    const ExternalAllocator::Block block = external->allocate(bytes, device_);
    data = block.data;
    scratch_.push_back(block.owner);
  } else {
    data = cuda::allocate_on(stream_, bytes);
    if (!data) fail_out_of_memory(bytes, device_);
    scratch_.emplace_back(data, [stream = stream_](void* block) { cudaFreeAsync(block, stream); });
  }
  return data;
}

void* Context::workspace() {
  if (external_ && !workspace_) workspace_ = scratch(kWorkspaceBytes);
  // Not cudaMallocAsync: during a capture, the CUDA graph would own the memory.
  if (!workspace_) check_cuda(cudaMalloc(&workspace_, kWorkspaceBytes), "allocating the workspace");
  return workspace_;
}

int* Context::zeroed_counters(std::int64_t count) {
  if (count <= num_counters_) return counters_;
  if (external_) {
    const std::int64_t more = std::max<std::int64_t>(1024, count);
    const std::size_t bytes = static_cast<std::size_t>(more) * sizeof(int);
    counters_ = static_cast<int*>(scratch(bytes));  // the old ones stay: kernels may still use them
    check_cuda(cudaMemsetAsync(counters_, 0, bytes, stream_), "zeroing counters");
    num_counters_ = more;
    return counters_;
  }
  check(!is_capturing(),
        "[context] a kernel in the captured work has not been run before: run it once before capturing");
  // The old counters are not freed, because captured CUDA graphs may use them.
  const std::int64_t more = std::max<std::int64_t>({1024, count, 2 * num_counters_});
  const std::size_t bytes = static_cast<std::size_t>(more) * sizeof(int);
  void* counters = nullptr;
  check_cuda(cudaMallocAsync(&counters, bytes, stream_), "allocating counters");
  check_cuda(cudaMemsetAsync(counters, 0, bytes, stream_), "zeroing counters");
  counters_ = static_cast<int*>(counters);
  num_counters_ = more;
  return counters_;
}

}  // namespace rodeo
