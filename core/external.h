/// Memory and streams of another framework, such as PyTorch: operators read its tensors in place, run on its
/// stream, and allocate from its memory pool.
#pragma once

#include <memory>

#include "core/external_allocator.h"
#include "core/tensor.h"

struct CUstream_st;

namespace rodeo {

/// A tensor over memory that someone else owns: contiguous, row-major, aligned to its elements, at least
/// shape.numel() elements on `device`. `owner` keeps the memory alive, and may be null where the caller does.
/// `data` may be null for a tensor without elements.
Tensor borrow(void* data, const Shape& shape, DType dtype, Device device, std::shared_ptr<void> owner);

/// RAII guard: while it lives, all work and all allocations of this thread on `device` use the stream and the
/// allocator of another framework. Other devices are not affected. Scopes of a thread may be nested.
/// - Operators then launch on `stream` (null: the legacy default stream; ignored for the CPU). It must live
/// as
///   long as the graphs that they use: the next stream that uses such a graph waits for it, and so does the
///   one whose memory is freed with the graph.
/// - Workspace and counters of kernels come from the allocator too, anew for each scope, so that scopes on
///   several streams of a thread do not share them.
/// - Work may be captured by the framework that owns the stream, where it could be captured on our own: plans
///   must exist, so run it once before the capture, and wait for the device before the capture begins.
/// - On CUDA, the thread's current device is `device`, and afterwards what it was before.
/// Throws Error for a CUDA device that is not present.
class ExternalScope {
 public:
  /// `allocator` must outlive the scope. Null: memory is allocated as usual.
  ExternalScope(Device device, CUstream_st* stream, ExternalAllocator* allocator);
  ~ExternalScope();
  ExternalScope(const ExternalScope&) = delete;
  ExternalScope& operator=(const ExternalScope&) = delete;

 private:
  struct Saved;
  std::unique_ptr<Saved> saved_;
};

/// RAII guard for a thread whose current CUDA device another framework chooses: work on any device may
/// follow, and the destructor selects the device of before. Nothing is done in a CPU-only build and without a
/// GPU.
class PreserveDevice {
 public:
  PreserveDevice();
  ~PreserveDevice();
  PreserveDevice(const PreserveDevice&) = delete;
  PreserveDevice& operator=(const PreserveDevice&) = delete;

 private:
  int before_;
};

}  // namespace rodeo
