#include "core/cuda/runtime.h"

#include <cuda_runtime.h>
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define RODEO_WITH_NVTX 1
#endif

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <set>
#include <vector>

#include "core/context.h"
#include "core/cuda/check.h"
#include "core/cuda/external.h"
#include "core/cuda/index_fault.h"
#include "core/cuda/wait.h"
#include "core/error.h"
#include "core/memory_stats.h"

namespace rodeo::cuda {
namespace {

// The devices for which a thread has a Context. Never destroyed.
struct UsedDevices {
  std::mutex mutex;
  std::set<int> indices;
};
UsedDevices& used_devices() {
  static UsedDevices* const all = new UsedDevices;
  return *all;
}

// Streams in whose order this thread allocates and frees: those of its Contexts, and of make_stream().
thread_local std::vector<cudaStream_t> own_streams;

cudaMemPool_t pool_of(Device device) {
  cudaMemPool_t pool = nullptr;
  check_cuda(cudaDeviceGetDefaultMemPool(&pool, device.index), "finding the memory pool");
  return pool;
}

std::int64_t read_pool(Device device, cudaMemPoolAttr which) {
  std::uint64_t bytes = 0;
  check_cuda(cudaMemPoolGetAttribute(pool_of(device), which, &bytes), "reading the memory pool");
  return static_cast<std::int64_t>(bytes);
}

}  // namespace

std::string pci_bus_id(Device device) {
  char text[32] = {};
  check_cuda(cudaDeviceGetPCIBusId(text, sizeof(text), device.index), "reading the PCI bus id");
  return text;
}

std::string device_name(int index) {
  cudaDeviceProp properties;
  check_cuda(cudaGetDeviceProperties(&properties, index), "reading device properties");
  return properties.name;
}

MemoryRoom memory_room(Device device) {
  Context::of(device);
  std::size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "reading the free memory");
  const std::int64_t kept = pool_bytes(device) - read_pool(device, cudaMemPoolAttrUsedMemCurrent);
  return {static_cast<std::int64_t>(free) + kept, static_cast<std::int64_t>(total)};
}

void set_up_pool(Device device, CUstream_st* stream) {
  std::uint64_t keep = UINT64_MAX;
  check_cuda(cudaMemPoolSetAttribute(pool_of(device), cudaMemPoolAttrReleaseThreshold, &keep),
             "setting up the memory pool");
  own_streams.push_back(stream);
  const std::scoped_lock lock(used_devices().mutex);
  used_devices().indices.insert(device.index);
}

std::int64_t pool_bytes(Device device) {
  return read_pool(device, cudaMemPoolAttrReservedMemCurrent);
}

void empty_cache() {
  // Only the streams of this thread: a wait for the device would break the capture of another thread.
  cudaError_t status = cudaSuccess;
  for (CUstream_st* stream : own_streams) {
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    if (status == cudaSuccess) status = cudaStreamIsCapturing(stream, &capture);
    check(capture == cudaStreamCaptureStatusNone,
          "[empty_cache] this thread captures a CUDA graph: call it after the capture");
    if (status == cudaSuccess) status = cudaStreamSynchronize(stream);
  }
  const std::scoped_lock lock(used_devices().mutex);
  for (const int index : used_devices().indices) {
    cudaMemPool_t pool = nullptr;
    if (status == cudaSuccess) status = cudaDeviceGetDefaultMemPool(&pool, index);
    if (status == cudaSuccess) status = cudaMemPoolTrimTo(pool, 0);
  }
  if (status != cudaSuccess) cudaGetLastError();  // clear it: a device has failed, or this process was forked
}

void* allocate_on(CUstream_st* stream, std::size_t bytes) {
  void* data = nullptr;
  const cudaError_t status = cudaMallocAsync(&data, bytes, stream);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // clear it
    return nullptr;
  }
  check_cuda(status, "allocating memory");
  return data;
}

void clear_rows(void* data, std::size_t pitch, std::size_t width, std::int64_t rows, Device device) {
  check_cuda(
      cudaMemset2DAsync(data, pitch, 0, width, static_cast<std::size_t>(rows), Context::of(device).stream()),
      "clearing memory");
}

void copy(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes) {
  if (bytes == 0) return;
  const Context& context = Context::of(to_device.is_cuda() ? to_device : from_device);
  if (to_device.is_cuda() && from_device.is_cuda() && to_device != from_device) {
    cuda::synchronize(from_device);  // its stream writes what is copied
    Context::of(to_device);
  }
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, context.stream()), "copying memory");
  if (to_device.is_cuda() && from_device.is_cuda()) return;
  context.synchronize();
  throw_index_fault();
}

void synchronize(Device device) {
  Context::of(device).synchronize();
  throw_index_fault();
}

void* allocate_pinned(std::size_t bytes, Device device) {
  Context::of(device);
  void* data = nullptr;
  const cudaError_t status = cudaMallocHost(&data, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw OutOfMemory(str("[memory] cpu is out of page-locked memory: ",
                          format_bytes(static_cast<double>(bytes)), " requested"));
  }
  check_cuda(status, "allocating page-locked memory");
  return data;
}

void release_pinned(void* data) noexcept {
  if (data) cudaFreeHost(data);
}

bool lock_pages(void* data, std::size_t bytes, Device device) {
  Context::of(device);
  if (cudaHostRegister(data, bytes, cudaHostRegisterDefault) == cudaSuccess) return true;
  cudaGetLastError();  // clear it
  return false;
}

void unlock_pages(void* data) noexcept {
  cudaHostUnregister(data);
}

void upload(void* to, const void* from, std::size_t bytes, Device device) {
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, Context::of(device).stream()),
             "copying memory");
}

CUevent_st* record_event(Device device) {
  cudaEvent_t event = nullptr;
  const Context& context = Context::of(device);
  check_cuda(cudaEventCreate(&event), "creating an event");
  check_cuda(cudaEventRecord(event, context.stream()), "recording an event");
  return event;
}

double elapsed_milliseconds(CUevent_st* begin, CUevent_st* end) {
  float milliseconds = 0;
  wait_for(end, "waiting for an event");
  check_cuda(cudaEventElapsedTime(&milliseconds, begin, end), "reading an event");
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return milliseconds;
}

double milliseconds_between(CUevent_st* begin, CUevent_st* end) {
  float milliseconds = 0;
  wait_for(end, "waiting for an event");
  check_cuda(cudaEventElapsedTime(&milliseconds, begin, end), "reading an event");
  return milliseconds;
}

#if RODEO_WITH_NVTX
void push_range(const char* name) noexcept {
  nvtxRangePushA(name);
}
void pop_range() noexcept {
  nvtxRangePop();
}
#else  // a toolkit without NVTX headers
void push_range(const char*) noexcept {}
void pop_range() noexcept {}
#endif

void start_copy(const void* from, std::size_t bytes, Device device, PinnedCopy& copy) {
  const Context& context = Context::of(device);
  if (!copy.done)
    check_cuda(cudaEventCreateWithFlags(&copy.done, cudaEventDisableTiming), "creating an event");
  if (copy.bytes < bytes) {
    cudaFreeHost(copy.host);  // waits for a copy in progress
    copy.host = nullptr;
    copy.bytes = 0;
    check_cuda(cudaMallocHost(&copy.host, bytes), "allocating page-locked memory");
    copy.bytes = bytes;
  }
  if (bytes > 0)
    check_cuda(cudaMemcpyAsync(copy.host, from, bytes, cudaMemcpyDeviceToHost, context.stream()),
               "copying memory");
  check_cuda(cudaEventRecord(copy.done, context.stream()), "recording an event");
}

void wait_for_copy(const PinnedCopy& copy) {
  wait_for(copy.done, "running kernels");
  throw_index_fault();
}

void free_copy(PinnedCopy& copy) noexcept {
  if (copy.done) {
    cudaEventSynchronize(copy.done);
    cudaEventDestroy(copy.done);
  }
  cudaFreeHost(copy.host);
  copy = {};
}

void wait_event(CUevent_st* event) {
  const cudaError_t status = cudaEventSynchronize(event);
  cudaEventDestroy(event);
  check_cuda(status, "waiting for an event");
}

namespace {

cudaError_t enqueue_wait(CUstream_st* later, CUstream_st* earlier) noexcept {
  cudaEvent_t event = nullptr;
  cudaError_t ordered = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  if (ordered != cudaSuccess) return ordered;
  ordered = cudaEventRecord(event, earlier);
  if (ordered == cudaSuccess) ordered = cudaStreamWaitEvent(later, event, 0);
  cudaEventDestroy(event);  // takes effect once the event is done
  return ordered;
}

}  // namespace

bool order_after(CUstream_st* earlier, Device device) {
  const Context& context = Context::of(device);
  // The other framework waited for the device before its capture, and its rules for captures forbid to ask.
  if (context.is_external() && context.is_capturing()) return false;
  // A stream was idle when its capture began (core/cuda/cuda_graph.cpp), and captured work has not run yet.
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check_cuda(cudaStreamIsCapturing(earlier, &status), "reading the capture status");
  if (status != cudaStreamCaptureStatusNone) return true;
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "creating an event");
  cudaError_t ordered = cudaEventRecord(event, earlier);
  if (ordered == cudaSuccess)
    ordered = context.is_capturing() ? cudaEventSynchronize(event)
                                     : cudaStreamWaitEvent(context.stream(), event, 0);
  cudaEventDestroy(event);  // takes effect once the event is done
  check_cuda(ordered, "ordering two streams");
  return true;
}

void join_streams(const std::vector<CUstream_st*>& streams, Device device) noexcept {
  const int before = exchange_device(device.index);
  if (before < 0) return;  // the process ends
  const auto is_free = [](CUstream_st* stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return cudaStreamIsCapturing(stream, &status) == cudaSuccess && status == cudaStreamCaptureStatusNone;
  };
  std::vector<CUstream_st*> joined;
  std::ranges::copy_if(streams, std::back_inserter(joined), is_free);
  for (std::size_t i = 1; i < joined.size(); ++i) enqueue_wait(joined[0], joined[i]);
  for (std::size_t i = 1; i < joined.size(); ++i) enqueue_wait(joined[i], joined[0]);
  exchange_device(before);
}

CUstream_st* make_stream(Device device) {
  Context::of(device);  // selects the device
  int least = 0, greatest = 0;
  check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "reading the priorities of streams");
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest), "creating a stream");
  own_streams.push_back(stream);
  return stream;
}

void stream_waits(CUstream_st* later, CUstream_st* earlier) {
  check_cuda(enqueue_wait(later, earlier), "ordering two streams");
}

void discard_event(CUevent_st* event) noexcept {
  if (event) cudaEventDestroy(event);
}

}  // namespace rodeo::cuda
