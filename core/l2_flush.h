/// Empties the L2 of a GPU between runs that are timed.
#pragma once

#include <memory>

#include "core/device.h"

namespace rodeo {

/// In an epoch other work evicts the operands of a product; in a loop of one product they would stay in the
/// L2. Holds a block of two L2 sizes, which memory_stats does not count. Does nothing on the CPU, and where
/// the GPU has no room for the block.
class L2Flush {
 public:
  explicit L2Flush(Device device);
  ~L2Flush();
  L2Flush(const L2Flush&) = delete;
  L2Flush& operator=(const L2Flush&) = delete;

  /// Overwrites the block, in the order of the Context's stream.
  void operator()() const;

 private:
  struct Block;
  std::unique_ptr<Block> block_;
};

}  // namespace rodeo
