/// What core needs of CUDA, without its headers. runtime_stub.cpp stands in for a CPU-only build.
#pragma once

#include <cstddef>
#include <string>

#include "core/tensor.h"

struct CUstream_st;
struct CUevent_st;

namespace rodeo::cuda {

int device_count();
/// Why device_count() is 0; empty when it is not.
std::string absence_reason();
/// Why kernels of this build cannot run on a device that is there; empty where they can. Makes its context.
std::string refusal(int index);
/// The status (cudaError_t) of loading one kernel for the current device.
int load_a_kernel();
std::string device_name(int index);
MemoryRoom memory_room(Device device);

/// Throws Error where there is no room.
void* allocate_on(CUstream_st* stream, std::size_t bytes, Device device);
/// Sets data, stream and graph_pool of a block for storage.device.
void allocate(std::size_t bytes, Storage& storage);
/// Zeros the first `width` bytes of each of `rows` rows that begin `pitch` bytes apart.
void clear_rows(void* data, std::size_t pitch, std::size_t width, std::int64_t rows, Device device);
void poison(void* data, std::size_t bytes, CUstream_st* stream);
void release(const Storage& storage) noexcept;
/// Ordered on the stream of the CUDA side; waits for it where the host is involved.
void copy(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes);
void synchronize(Device device);

/// Page-locked host memory, which upload() reads while the host goes on. release_pinned() waits for the
/// device.
void* allocate_pinned(std::size_t bytes, Device device);
void release_pinned(void* data) noexcept;
/// Host memory of allocate_pinned() to the device, in the order of its stream; returns at once.
void upload(void* to, const void* from, std::size_t bytes, Device device);

/// Marks a point of the calling thread's stream.
CUevent_st* record_event(Device device);
/// Waits for `end`, then destroys both.
double elapsed_milliseconds(CUevent_st* begin, CUevent_st* end);
/// Waits for `end`; both stay.
double milliseconds_between(CUevent_st* begin, CUevent_st* end);
/// A named range of this thread on the time line of Nsight Systems.
void push_range(const char* name) noexcept;
void pop_range() noexcept;
/// Waits until the device has passed it, then destroys it.
void wait_event(CUevent_st* event);
/// Destroys it without waiting; nullptr will do.
void discard_event(CUevent_st* event) noexcept;

/// A copy to page-locked host memory, which grows as needed.
struct PinnedCopy {
  void* host = nullptr;
  std::size_t bytes = 0;
  CUevent_st* done = nullptr;
};
void start_copy(const Tensor& x, PinnedCopy& copy);
void wait_for_copy(const PinnedCopy& copy);
void free_copy(PinnedCopy& copy) noexcept;

// Elementwise kernels; shapes and devices have been checked.
void fill(const Tensor& out, double value);
void cast(const Tensor& x, const Tensor& out);
void add(const Tensor& a, const Tensor& b, const Tensor& out);

}  // namespace rodeo::cuda
