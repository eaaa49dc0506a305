#include "core/cuda/device_memory.h"
#include "core/cuda/presence.h"
#include "core/error.h"

namespace rodeo::cuda {

DeviceBlock allocate(std::size_t, Device) {
  fail("[cuda] ", absence_reason());
}
void release(const DeviceBlock&, Device) noexcept {}
void poison(const DeviceBlock&) {
  fail("[cuda] ", absence_reason());
}

}  // namespace rodeo::cuda
