/// Writes the pickles of the Planetoid files, as far as their reader looks at them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/datasets/parts.h"

namespace rodeo::test {

inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}
inline std::string integer(std::int64_t value) {
  return str('J', little_endian(static_cast<std::uint64_t>(value), 4));
}
inline std::string text(const std::string& value) {
  return str('X', little_endian(value.size(), 4), value);
}

/// Opcodes of numpy.ndarray, as far as the reader looks at them. With `big_endian`, as NumPy writes '>f4'.
template <class T>
std::string array(const std::vector<T>& values, const Ids& shape, const char* type, bool big_endian = false) {
  std::string sizes;
  for (const std::int64_t size : shape) sizes += integer(size);
  std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  for (std::size_t at = 0; big_endian && at < bytes.size(); at += sizeof(T))
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + sizeof(T)));
  const std::string order = str("(", integer(3), text(big_endian ? ">" : "<"), "tb");
  return str("cnumpy ndarray\nmake\n)R(", integer(1), "(", sizes, "tcnumpy\ndtype\n(", text(type), "tR",
             order, integer(0), "T", little_endian(bytes.size(), 4), bytes, "tb");
}

/// A CSR matrix with one entry of 1 a row, in the given columns.
inline std::string matrix(const std::vector<std::int32_t>& columns, std::int64_t width) {
  std::vector<std::int32_t> indptr;
  for (std::size_t i = 0; i <= columns.size(); ++i) indptr.push_back(static_cast<std::int32_t>(i));
  const auto rows = static_cast<std::int64_t>(columns.size());
  return str("cscipy\ncsr_matrix\n)R}(", text("_shape"), integer(rows), integer(width), "\x86",
             text("indptr"), array(indptr, {rows + 1}, "i4"), text("indices"), array(columns, {rows}, "i4"),
             text("data"), array(std::vector<float>(columns.size(), 1), {rows}, "f4"), "ub.");
}

inline std::string one_hot(const Ids& classes, std::int64_t count) {
  std::vector<std::int32_t> values(classes.size() * static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < classes.size(); ++i)
    values[i * static_cast<std::size_t>(count) + static_cast<std::size_t>(classes[i])] = 1;
  return array(values, {static_cast<std::int64_t>(classes.size()), count}, "i4").append(".");
}

}  // namespace rodeo::test
