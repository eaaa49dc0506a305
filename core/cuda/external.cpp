#include "core/cuda/external.h"

#include <cuda_runtime.h>

#include <utility>

#include "core/context.h"
#include "core/cuda/check.h"
#include "core/cuda/presence.h"

namespace rodeo::cuda {

ExternalStream::ExternalStream(Device device, CUstream_st* stream) : stream_(stream) {
  check_cuda(cudaGetDevice(&device_before_), "reading the current device");
  context_ = &Context::of(device);
  // Context::of() remembers the device that it selected last; the other framework may have selected another.
  if (device_before_ != device.index) check_cuda(cudaSetDevice(device.index), "selecting the device");
  exchange();
}

ExternalStream::~ExternalStream() {
  exchange();
  if (device_before_ != context_->device().index) exchange_device(device_before_);
}

void ExternalStream::exchange() {
  std::swap(context_->stream_, stream_);
  std::swap(context_->workspace_, workspace_);
  std::swap(context_->counters_, counters_);
  std::swap(context_->num_counters_, num_counters_);
  std::swap(context_->external_, external_);
  std::swap(context_->scratch_, scratch_);
}

int exchange_device(int device) noexcept {
  Context::forget_current();
  int before = -1;
  if (device_count() == 0 || cudaGetDevice(&before) != cudaSuccess) return -1;
  if (device >= 0) cudaSetDevice(device);
  return before;
}

std::unique_ptr<ExternalStream> enter_stream(Device device, CUstream_st* stream) {
  return std::make_unique<ExternalStream>(device, stream);
}

}  // namespace rodeo::cuda
