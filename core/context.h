/// What a thread computes with on one CUDA device. Needs no CUDA header: handles are the libraries' own
/// opaque pointers, so `cudaStream_t s = Context::of(device).stream()` just works.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/device.h"
#include "core/device_properties.h"

struct CUstream_st;
struct cublasLtContext;
struct cudnnContext;
struct cusparseContext;

namespace rodeo {

/// One per thread and device, made on first use, never destroyed. All work of a thread on a device goes to
/// one non-blocking stream, in order; memory is taken from and returned to the device's pool in that order.
class Context {
 public:
  /// Throws Error unless `device` is a CUDA device that is present. Makes it the thread's current CUDA
  /// device.
  static Context& of(Device device);

  Device device() const { return device_; }
  CUstream_st* stream() const { return stream_; }
  void synchronize() const;
  /// True while a CUDA graph is captured from the stream: nothing may wait for the device then.
  bool is_capturing() const;

  /// Made on first use. cudnn() throws Error in a build without cuDNN.
  cublasLtContext* cublaslt();
  cudnnContext* cudnn();
  cusparseContext* cusparse();

  /// Scratch memory for one kernel or library call at a time, in the stream's order. Kept for the life of the
  /// process, so that it costs nothing to take.
  void* workspace();
  static constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

  /// At least `count` integers on the device that are zero when a kernel begins, and that it leaves zero: it
  /// counts there which of its blocks is the last. Kept for the life of the process. In a graph capture no
  /// more are to be had than were before: whoever is captured has run once.
  int* zeroed_counters(std::int64_t count);

  const DeviceProperties& properties() const { return properties_; }
  int compute_capability() const { return properties_.compute_capability; }  // 90 is 9.0
  int num_multiprocessors() const { return properties_.num_multiprocessors; }
  std::size_t l2_bytes() const { return properties_.l2_bytes; }

  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

 private:
  explicit Context(Device device);

  Device device_;
  CUstream_st* stream_ = nullptr;
  cublasLtContext* cublaslt_ = nullptr;
  cudnnContext* cudnn_ = nullptr;
  cusparseContext* cusparse_ = nullptr;
  void* workspace_ = nullptr;
  int* counters_ = nullptr;
  std::int64_t num_counters_ = 0;
  DeviceProperties properties_;
};

/// Lets f32 matrix products round their inputs to TF32 (10-bit mantissa). Off by default; process-wide.
void set_allow_tf32(bool allow);
bool allow_tf32();

}  // namespace rodeo
