/// What a backend of Communicator implements. Communicator has checked what one rank can check alone, and
/// has allocated the outputs.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/communicator_types.h"
#include "core/tensor.h"

namespace rodeo::comm {

using Rows = std::vector<std::int64_t>;  // a number of rows for each rank

/// Where each rank's block begins, in units of `rows`, and the end.
inline Rows offsets_of(const Rows& rows) {
  Rows offsets{0};
  for (const std::int64_t count : rows) offsets.push_back(offsets.back() + count);
  return offsets;
}

/// Bytes of one row; 0 if it has no elements.
inline std::int64_t row_bytes(const Tensor& x) {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(x.dtype()));
  for (int i = 1; i < x.rank(); ++i) bytes *= x.dim(i);
  return bytes;
}

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  virtual void all_reduce(const Tensor& x, Reduction reduction) = 0;
  virtual void all_gather(const Tensor& x, const Rows& rows, const Tensor& out) = 0;
  virtual void reduce_scatter(const Tensor& x, const Rows& rows, Reduction reduction, const Tensor& out) = 0;
  virtual void all_to_all(const Tensor& x, const Rows& send_rows, const Rows& receive_rows,
                          const Tensor& out) = 0;
  virtual void broadcast(const Tensor& x, int root) = 0;
  virtual void barrier() = 0;
  /// Does now what the first collective on `device` does once.
  virtual void connect(Device) {}
  /// Ends the other ranks. May return; the caller ends this process with `exit_code`.
  virtual void abort(int exit_code) = 0;
};

}  // namespace rodeo::comm
