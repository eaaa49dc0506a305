/// Sizes of a tensor's dimensions, outermost first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>

namespace rodeo {

class Shape {
 public:
  static constexpr int kMaxRank = 4;

  Shape() = default;  // a scalar: rank 0, one element
  /// Throws Error on a negative size, more than kMaxRank dimensions, or 2^62 elements and more.
  explicit Shape(std::span<const std::int64_t> sizes);
  Shape(std::initializer_list<std::int64_t> sizes) : Shape(std::span(sizes.begin(), sizes.size())) {}

  int rank() const { return rank_; }
  /// Size of dimension i; negative i counts from the end.
  std::int64_t operator[](int i) const;
  std::int64_t numel() const;
  std::span<const std::int64_t> sizes() const { return {sizes_.data(), static_cast<std::size_t>(rank_)}; }
  /// Another size of dimension 0. Throws Error for a scalar.
  Shape with_rows(std::int64_t rows) const;
  bool operator==(const Shape& other) const = default;

 private:
  std::array<std::int64_t, kMaxRank> sizes_{};
  int rank_ = 0;
};

/// "[2708, 16]"
std::ostream& operator<<(std::ostream& out, const Shape& shape);

}  // namespace rodeo
