#include "core/shape.h"

#include <ostream>

#include "core/error.h"

namespace rodeo {

Shape::Shape(std::span<const std::int64_t> sizes) {
  check(sizes.size() <= kMaxRank, "[shape] at most ", kMaxRank, " dimensions, got ", sizes.size());
  std::int64_t numel = 1;
  for (const std::int64_t size : sizes) {
    check(size >= 0, "[shape] sizes must be >= 0, got ", size);
    sizes_[rank_++] = size;
    if (size > 0) {
      check(numel < (std::int64_t{1} << 62) / size, "[shape] too many elements");
      numel *= size;
    }
  }
}

std::int64_t Shape::operator[](int i) const {
  const int at = i < 0 ? i + rank_ : i;
  check(at >= 0 && at < rank_, "[shape] dimension ", i, " of a shape of rank ", rank_);
  return sizes_[at];
}

std::int64_t Shape::numel() const {
  std::int64_t numel = 1;
  for (int i = 0; i < rank_; ++i) numel *= sizes_[i];
  return numel;
}

Shape Shape::with_rows(std::int64_t rows) const {
  check(rank_ > 0, "[shape] a scalar has no rows");
  std::array<std::int64_t, kMaxRank> sizes = sizes_;
  sizes[0] = rows;
  return Shape(std::span(sizes.data(), static_cast<std::size_t>(rank_)));
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  out << '[';
  for (int i = 0; i < shape.rank(); ++i) out << (i ? ", " : "") << shape[i];
  return out << ']';
}

}  // namespace rodeo
