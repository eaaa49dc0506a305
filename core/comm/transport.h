/// Bytes between the ranks of a host backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/tensor.h"

namespace rodeo::comm {

struct Message {
  int peer = 0;
  std::byte* data = nullptr;  // read when sent, written when received
  std::int64_t bytes = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Sends and receives all messages, and returns when they are complete. Messages of one pair of ranks
  /// arrive in the order of calls; sender and receiver know their sizes. Throws Error, with `op` as the
  /// prefix, if a rank does not answer. `operands` own the memory, and are kept alive as long as late
  /// messages may use it.
  virtual void exchange(std::string_view op, const std::vector<Message>& receives,
                        const std::vector<Message>& sends, const std::vector<Tensor>& operands) = 0;
  /// Called now and then while this rank has waited for its GPU for `waited` seconds, and with a negative
  /// value when it goes on. Tells the others. Throws Error if the wait cannot end: a rank has exited, or does
  /// something else for longer than the timeout.
  virtual void watch(double waited) = 0;
  /// False after an exchange or a wait that failed: no call can succeed any more.
  virtual bool usable() const = 0;
  /// Ends the other ranks. May return; the caller ends this process with `exit_code`.
  virtual void abort(int exit_code) = 0;
};

}  // namespace rodeo::comm
