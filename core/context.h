/// A thread's stream, library handles and workspace on one CUDA device. Needs no CUDA header: handles are the
/// libraries' own opaque pointers, so that `cudaStream_t s = Context::of(device).stream()` compiles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/device_properties.h"
#include "core/device_type.h"

struct CUstream_st;
struct cublasLtContext;
struct cudnnContext;
struct cusparseContext;

namespace rodeo {

namespace cuda {
struct ExternalStream;
}

/// One per thread and device, created on first use and never destroyed. All work of a thread on a device runs
/// on one non-blocking stream, or on the stream of an ExternalScope (core/external.h). Memory is allocated
/// and freed in the order of that stream.
class Context {
 public:
  /// Also makes `device` the thread's current CUDA device. Throws Error unless it is a CUDA device that is
  /// present.
  static Context& of(Device device);

  Device device() const { return device_; }
  CUstream_st* stream() const { return stream_; }
  void synchronize() const;
  /// True while a CUDA graph is captured from the stream. Nothing may wait for the device then.
  bool is_capturing() const;
  /// True while an ExternalScope has replaced the stream.
  bool is_external() const { return external_; }

  /// Library handles, created on first use. cudnn() throws Error in a build without cuDNN.
  cublasLtContext* cublaslt();
  cudnnContext* cudnn();
  cusparseContext* cusparse();

  /// Scratch memory for one kernel or library call at a time, in stream order. Allocated on first use, never
  /// freed.
  void* workspace();
  static constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

  /// At least `count` integers in device memory that are zero when a kernel begins and that it must leave
  /// zero. Kernels find their last block with them. Never freed. Cannot grow during a CUDA graph capture: run
  /// the kernel once before capturing.
  int* zeroed_counters(std::int64_t count);

  const DeviceProperties& properties() const { return properties_; }
  int compute_capability() const { return properties_.compute_capability; }  // 90 is 9.0
  int num_multiprocessors() const { return properties_.num_multiprocessors; }
  std::size_t l2_bytes() const { return properties_.l2_bytes; }

  /// The next of() selects its device again: for threads where other code has selected another one.
  static void forget_current();

  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

 private:
  friend struct cuda::ExternalStream;
  explicit Context(Device device);
  void* scratch(std::size_t bytes);  // freed at the end of the ExternalScope

  Device device_;
  CUstream_st* stream_ = nullptr;
  cublasLtContext* cublaslt_ = nullptr;
  cudnnContext* cudnn_ = nullptr;
  cusparseContext* cusparse_ = nullptr;
  void* workspace_ = nullptr;
  int* counters_ = nullptr;
  std::int64_t num_counters_ = 0;
  bool external_ = false;
  std::vector<std::shared_ptr<void>> scratch_;  // owns workspace_ and counters_ of an ExternalScope
  DeviceProperties properties_;
};

/// Allows f32 matrix products to round their inputs to TF32 (10-bit mantissa). Process-wide; default false.
void set_allow_tf32(bool allow);
bool allow_tf32();

}  // namespace rodeo
