/// The CUDA side of ExternalScope. external_stub.cpp replaces it in a CPU-only build.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/device_type.h"

struct CUstream_st;

namespace rodeo {
class Context;
}

namespace rodeo::cuda {

/// While it lives, this thread's Context of a device uses another stream, without the workspace and counters
/// of its own. The destructor restores them and the thread's current device.
struct ExternalStream {
  ExternalStream(Device device, CUstream_st* stream);
  ~ExternalStream();
  ExternalStream(const ExternalStream&) = delete;
  ExternalStream& operator=(const ExternalStream&) = delete;

 private:
  void exchange();

  Context* context_ = nullptr;
  int device_before_ = -1;
  CUstream_st* stream_ = nullptr;
  void* workspace_ = nullptr;
  int* counters_ = nullptr;
  std::int64_t num_counters_ = 0;
  bool external_ = true;
  std::vector<std::shared_ptr<void>> scratch_;
};

/// The thread's current device, or -1 without one. Selects `device` unless it is -1. Afterwards Context::of()
/// selects its device anew.
int exchange_device(int device) noexcept;

std::unique_ptr<ExternalStream> enter_stream(Device device, CUstream_st* stream);

}  // namespace rodeo::cuda
