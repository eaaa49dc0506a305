#include "core/cuda/presence.h"
#include "core/cuda/runtime.h"
#include "core/error.h"

namespace rodeo::cuda {
namespace {
[[noreturn]] void absent() {
  fail("[cuda] ", absence_reason());
}
}  // namespace

std::string device_name(int) {
  absent();
}
std::string pci_bus_id(Device) {
  absent();
}
MemoryRoom memory_room(Device) {
  absent();
}
void clear_rows(void*, std::size_t, std::size_t, std::int64_t, Device) {
  absent();
}
void copy(void*, Device, const void*, Device, std::size_t) {
  absent();
}
void synchronize(Device) {
  absent();
}
void set_up_pool(Device, CUstream_st*) {
  absent();
}
std::int64_t pool_bytes(Device) {
  absent();
}
void empty_cache() {}
void* allocate_pinned(std::size_t, Device) {
  absent();
}
void release_pinned(void*) noexcept {}
bool lock_pages(void*, std::size_t, Device) {
  absent();
}
void unlock_pages(void*) noexcept {}
void upload(void*, const void*, std::size_t, Device) {
  absent();
}
CUevent_st* record_event(Device) {
  absent();
}
double elapsed_milliseconds(CUevent_st*, CUevent_st*) {
  absent();
}
double milliseconds_between(CUevent_st*, CUevent_st*) {
  absent();
}
void push_range(const char*) noexcept {}
void pop_range() noexcept {}
void* allocate_on(CUstream_st*, std::size_t) {
  absent();
}
void start_copy(const void*, std::size_t, Device, PinnedCopy&) {
  absent();
}
void wait_for_copy(const PinnedCopy&) {
  absent();
}
void free_copy(PinnedCopy&) noexcept {}
void wait_event(CUevent_st*) {
  absent();
}
CUstream_st* make_stream(Device) {
  absent();
}
void stream_waits(CUstream_st*, CUstream_st*) {
  absent();
}
bool order_after(CUstream_st*, Device) {
  absent();
}
void join_streams(const std::vector<CUstream_st*>&, Device) noexcept {}
void discard_event(CUevent_st*) noexcept {}

}  // namespace rodeo::cuda
