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
  /// i64. 16-bit integers with an attribute dtype = "bfloat16" are the bits of bf16.
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  /// "cora.h5: /x", how its errors begin.
  const std::string& where() const { return where_; }

  /// Fills `out`, a host tensor of any dtype, with the block of out's shape that begins at `start`. Where out
  /// has fewer dimensions than the array, the leading ones count one: start {1, 5}, out [n] is part of row 1.
  /// Values that out's dtype cannot hold saturate.
  void read(const Shape& start, const Tensor& out) const;
  /// The same into memory of the caller, room for `count` values of `dtype`.
  void read(const Shape& start, const Shape& count, DType dtype, void* out) const;
  /// All of it.
  Tensor read(DType dtype) const;

  /// Blocks of so many entries of the first dimension cut no compressed chunk; 1 where there are none.
  std::int64_t chunk_rows() const { return chunk_rows_; }

 private:
  friend class Hdf5File;
  Hdf5Array(Hdf5Id id, std::shared_ptr<const int> file, std::string where);
  bool read_plain(std::int64_t begin, std::int64_t count, std::size_t width, void* out) const;

  Hdf5Id id_;
  std::shared_ptr<const int> file_;  // descriptor
  std::string where_;
  DType dtype_;
  Shape shape_;
  bool bits_ = false;         // bf16 in integers
  bool native_ = false;       // values in the file are as in memory
  std::int64_t offset_ = -1;  // of values that stand in the file one after the other
  std::int64_t chunk_rows_ = 1;
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
  /// written whole and whose values are in this file: links to other files are not followed, and what it
  /// claims to hold is there, so that memory follows the size of the file.
  Hdf5Array array(const std::string& name) const;

  /// Attributes of the root group; nothing where there is none. Throws Error where it is something else.
  std::optional<std::int64_t> integer(const std::string& attribute) const;
  std::optional<std::string> text(const std::string& attribute) const;

 private:
  std::string path_;
  std::shared_ptr<const int> file_;
  Hdf5Id id_;
};

}  // namespace rodeo
