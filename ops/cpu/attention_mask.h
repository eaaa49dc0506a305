/// The dropout mask of attention weights, that of edge_dropout().
#pragma once

#include "ops/attention_types.h"
#include "ops/cpu/loops.h"
#include "ops/edge_dropout.h"
#include "ops/kernels/dropout.h"

namespace rodeo::kernels::cpu {

class EdgeMask {
 public:
  explicit EdgeMask(const AttentionOptions& options)
      : threshold_(dropout_threshold(options.dropout)), first_(options.first_head), key_(options.key) {}
  void begin_edge(std::int64_t row, std::int64_t col) {
    row_ = static_cast<std::uint32_t>(row), col_ = static_cast<std::uint32_t>(col);
  }
  /// Call it for the heads of an edge in ascending order.
  bool keeps(std::int64_t head) {
    if (threshold_ == 0) return true;
    const std::int64_t at = first_ + head;
    if (head == 0 || at % 4 == 0) words_ = edge_words(key_, row_, col_, static_cast<std::uint32_t>(at / 4));
    return dropout_keeps(words_.word[at % 4], threshold_);
  }

 private:
  std::uint32_t threshold_;
  std::int64_t first_;
  RandomKey key_;
  std::uint32_t row_ = 0, col_ = 0;
  Philox4 words_{};
};

template <class Sum>
Sum leaky(Sum value, Sum slope) {
  return std::max(value, Sum(0)) + slope * std::min(value, Sum(0));  // without a branch
}

}  // namespace rodeo::kernels::cpu
