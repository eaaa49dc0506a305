#include "core/side_stream.h"

#include "core/context.h"
#include "core/cuda/runtime.h"

namespace rodeo {

SideStream::SideStream(Device device)
    : device_(device), stream_(device.is_cuda() ? cuda::make_stream(device) : nullptr) {}

void SideStream::waits_for_main() const {
  if (stream_) cuda::stream_waits(stream_, Context::of(device_).stream());
}

void SideStream::main_waits() const {
  if (stream_) cuda::stream_waits(Context::of(device_).stream(), stream_);
}

}  // namespace rodeo
