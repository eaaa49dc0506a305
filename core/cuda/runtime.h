/// The CUDA runtime calls that core needs, without CUDA headers: streams, events, copies. runtime_stub.cpp
/// replaces it in a CPU-only build. See also presence.h, device_memory.h and elementwise.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/device_type.h"

struct CUstream_st;
struct CUevent_st;

namespace rodeo::cuda {

std::string device_name(int index);
/// "0000:1b:00.0": which of the host's GPUs it is.
std::string pci_bus_id(Device device);
MemoryRoom memory_room(Device device);
void synchronize(Device device);

/// Makes the device's memory pool keep what is freed, so that allocations in a training loop need no driver
/// call. `stream` is this thread's, for which empty_cache() waits.
void set_up_pool(Device device, CUstream_st* stream);
/// Bytes that the pool holds: those of live blocks, and what it keeps.
std::int64_t pool_bytes(Device device);
/// Returns what the pools keep to the driver (core/device.h).
void empty_cache();

/// Allocates in the order of `stream`. Returns null if the device is out of memory; throws Error otherwise.
void* allocate_on(CUstream_st* stream, std::size_t bytes);
/// Copies in the order of the CUDA side's stream. Waits for it if either side is the host.
void copy(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes);
/// Zeros the first `width` bytes of each of `rows` rows that begin `pitch` bytes apart.
void clear_rows(void* data, std::size_t pitch, std::size_t width, std::int64_t rows, Device device);

/// Page-locked host memory for upload(). release_pinned() waits for the device.
void* allocate_pinned(std::size_t bytes, Device device);
void release_pinned(void* data) noexcept;
/// Page-locks memory of the host, so that kernels read it over the bus. False: not so much can be locked.
bool lock_pages(void* data, std::size_t bytes, Device device);
void unlock_pages(void* data) noexcept;
/// Copies page-locked host memory to the device in stream order. Returns at once.
void upload(void* to, const void* from, std::size_t bytes, Device device);

/// Records an event on the calling thread's stream.
CUevent_st* record_event(Device device);
/// Waits for `end`, then destroys both.
double elapsed_milliseconds(CUevent_st* begin, CUevent_st* end);
/// Waits for `end`; destroys neither.
double milliseconds_between(CUevent_st* begin, CUevent_st* end);
/// Waits for the event, then destroys it.
void wait_event(CUevent_st* event);
/// The work that this thread enqueues on `device` from now on begins after the work that was enqueued on the
/// stream `earlier` so far. A captured stream cannot wait for work outside the capture: the host waits then.
/// Returns false, and orders nothing, in the capture of an ExternalScope.
bool order_after(CUstream_st* earlier, Device device);
/// What is enqueued on any of the streams from now on, frees of memory too, begins after what the others
/// hold. Streams in a capture are left out, because their work has not run yet.
void join_streams(const std::vector<CUstream_st*>& streams, Device device) noexcept;
/// A stream beside the Context's, whose kernels are scheduled before those of other streams.
CUstream_st* make_stream(Device device);
/// What is enqueued on `later` from now on begins after the work that `earlier` holds. In a capture of one
/// of them, the other one takes part.
void stream_waits(CUstream_st* later, CUstream_st* earlier);
/// Destroys the event without waiting; null is allowed.
void discard_event(CUevent_st* event) noexcept;

/// An NVTX range of this thread: Nsight Systems shows it.
void push_range(const char* name) noexcept;
void pop_range() noexcept;

/// An asynchronous copy to page-locked host memory, which grows as needed.
struct PinnedCopy {
  void* host = nullptr;
  std::size_t bytes = 0;
  CUevent_st* done = nullptr;
};
void start_copy(const void* from, std::size_t bytes, Device device, PinnedCopy& copy);
void wait_for_copy(const PinnedCopy& copy);
void free_copy(PinnedCopy& copy) noexcept;

}  // namespace rodeo::cuda
