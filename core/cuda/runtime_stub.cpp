#include "core/cuda/runtime.h"

namespace rodeo::cuda {
namespace {
[[noreturn]] void absent() {
  fail("[cuda] ", absence_reason());
}
}  // namespace

int device_count() {
  return 0;
}
std::string absence_reason() {
  return "this build has no CUDA backend";
}
std::string refusal(int) {
  absent();
}
std::string device_name(int) {
  absent();
}
MemoryRoom memory_room(Device) {
  absent();
}
void allocate(std::size_t, Storage&) {
  absent();
}
void clear_rows(void*, std::size_t, std::size_t, std::int64_t, Device) {
  absent();
}
void poison(void*, std::size_t, CUstream_st*) {
  absent();
}
void release(const Storage&) noexcept {}
void copy(void*, Device, const void*, Device, std::size_t) {
  absent();
}
void synchronize(Device) {
  absent();
}
void* allocate_pinned(std::size_t, Device) {
  absent();
}
void release_pinned(void*) noexcept {}
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
void start_copy(const Tensor&, PinnedCopy&) {
  absent();
}
void wait_for_copy(const PinnedCopy&) {
  absent();
}
void free_copy(PinnedCopy&) noexcept {}
void wait_event(CUevent_st*) {
  absent();
}
void discard_event(CUevent_st*) noexcept {}
void fill(const Tensor&, double) {
  absent();
}
void cast(const Tensor&, const Tensor&) {
  absent();
}
void add(const Tensor&, const Tensor&, const Tensor&) {
  absent();
}

}  // namespace rodeo::cuda
