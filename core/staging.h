/// Filling a tensor from the host, block by block, without a copy of it on the host.
#pragma once

#include <cstdint>

#include "core/tensor.h"

struct CUevent_st;

namespace rodeo {

/// On the CPU the caller writes straight into the tensor. On CUDA it writes into one of two page-locked
/// buffers while the copy of the other one is under way.
///   Staging to(out, block);
///   for (...) std::copy_n(values, count, static_cast<float*>(to.next(begin, count)));
///   to.finish();
class Staging {
 public:
  /// `out` of any device; no block has more than `block` elements.
  Staging(const Tensor& out, std::int64_t block);
  /// Waits for copies under way; what was not finished is lost.
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Host memory for elements [begin, begin + count) of out, valid until the next call, which sends them.
  /// Throws Error for a block that is too large or outside of out.
  void* next(std::int64_t begin, std::int64_t count);
  /// Sends the last block, and returns when all of them are there.
  void finish();

 private:
  struct Buffer {
    void* data = nullptr;
    CUevent_st* sent = nullptr;
  };
  void send();

  Tensor out_;
  std::int64_t block_;
  Buffer buffers_[2];
  int current_ = 0;
  std::int64_t begin_ = 0, count_ = 0;  // of the block that is being written
};

}  // namespace rodeo
