#include "core/cuda/external.h"
#include "core/cuda/presence.h"
#include "core/error.h"

namespace rodeo::cuda {

ExternalStream::ExternalStream(Device, CUstream_st*) {}
ExternalStream::~ExternalStream() = default;
void ExternalStream::exchange() {}

int exchange_device(int) noexcept {
  return -1;
}

std::unique_ptr<ExternalStream> enter_stream(Device, CUstream_st*) {
  fail("[cuda] ", absence_reason());
}

}  // namespace rodeo::cuda
