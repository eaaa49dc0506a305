/// Reading numeric arrays and attributes from HDF5 files.
/// Every failure is a rodeo::Error of one line that names the file, the object and the rule:
///   cora.h5: /x must be floating point [nodes, features], got i64 [5]
/// The HDF5 library is not made for two threads at once; neither is this.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/tensor.h"

namespace rodeo {

/// An identifier of the HDF5 library, closed with its last copy.
using Hdf5Id = std::shared_ptr<const std::int64_t>;

/// One array of an open file; keeps the file open.
class Hdf5Array {
 public:
  /// The narrowest type of ours that holds every value: bool is u8; i8, i16 and u16 are i32; u32 and u64 are
  /// i64.
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  /// "cora.h5: /x", how its errors begin.
  const std::string& where() const { return where_; }

  /// Fills `out`, a host tensor of any dtype, with the block of out's shape that begins at `start`. Where out
  /// has fewer dimensions than the array, the leading ones count one: start {1, 5}, out [n] is part of row 1.
  /// Values that out's dtype cannot hold saturate.
  void read(const Shape& start, const Tensor& out) const;
  /// All of it.
  Tensor read(DType dtype) const;

 private:
  friend class Hdf5File;
  Hdf5Array(Hdf5Id id, std::string where);

  Hdf5Id id_;
  std::string where_;
  DType dtype_;
  Shape shape_;
};

class Hdf5File {
 public:
  static constexpr std::int64_t kMaxElements = std::int64_t{1}
                                               << 40;  // of an array; what claims more is damaged

  /// Opens for reading. The Error tells apart: no such file, a directory, not HDF5, truncated or damaged.
  explicit Hdf5File(const std::string& path);

  const std::string& path() const { return path_; }

  /// Whether the root group has something of that name, whatever it is.
  bool has(const std::string& name) const;
  /// Throws Error unless it is an array of integers, floats or bools, of at most 4 dimensions, that was
  /// written and whose values are in this file: links to other files are not followed.
  Hdf5Array array(const std::string& name) const;

  /// Attributes of the root group; nothing where there is none. Throws Error where it is something else.
  std::optional<std::int64_t> integer(const std::string& attribute) const;
  std::optional<std::string> text(const std::string& attribute) const;

 private:
  std::string path_;
  Hdf5Id id_;
};

}  // namespace rodeo
