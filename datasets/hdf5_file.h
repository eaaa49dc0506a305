/// Reading numeric arrays and attributes from HDF5 files.
/// Every failure throws a one-line rodeo::Error that names the file, the object and the rule:
///   cora.h5: /x must be numbers [nodes, features], got i64 [5]
/// Not thread-safe, because the HDF5 library is not.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/file_descriptor.h"
#include "core/tensor.h"

namespace rodeo {

/// An owning identifier of the HDF5 library, closed with its last copy.
using Hdf5Id = std::shared_ptr<const std::int64_t>;

/// One array of an open file. It keeps the file open.
class Hdf5Array {
 public:
  /// The narrowest dtype that holds every value: bool is u8; i8, i16 and u16 are i32; u32 and u64 are i64.
  /// 16-bit integers with an attribute dtype = "bfloat16" are the bits of bf16.
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  /// Whether it is stored as bool, which dtype() calls u8.
  bool is_bool() const { return is_bool_; }
  /// "cora.h5: /x", the prefix of its error texts.
  const std::string& where() const { return where_; }

  /// Fills `out`, a host tensor of any dtype, with the block that begins at `start`. If out has fewer
  /// dimensions than the array, missing leading dimensions are 1: start {1, 5} and out [n] read a part of
  /// row 1. Values out of the range of the dtype saturate.
  void read(const Shape& start, const Tensor& out) const;
  /// Reads a block of shape `count` and `dtype` into memory of the caller.
  void read(const Shape& start, const Shape& count, DType dtype, void* out) const;
  /// The whole array.
  Tensor read(DType dtype) const;

  /// Makes the calls of the HDF5 library that reading the whole array as `dtype` makes, block by block. The
  /// values are dropped, and those that read() itself copies or decompresses are not touched: much cheaper
  /// than reading. For the process of check_hdf5_file(), which may crash.
  void rehearse(DType dtype) const;

  /// Length of a chunk in the first dimension; 1 if the array is not chunked. Reading multiples of it avoids
  /// decompressing a chunk twice.
  std::int64_t chunk_rows() const { return chunk_rows_; }

  /// Where the values are in the file: one after the other, in the byte layout that `dtype()` has in memory.
  struct Plain {
    std::shared_ptr<const FileDescriptor> file;
    std::int64_t offset = 0;  // of the first value, in bytes
  };
  /// Nothing for arrays that are chunked, compressed, converted when they are read, or empty.
  std::optional<Plain> plain() const;

 private:
  friend class Hdf5File;
  Hdf5Array(Hdf5Id id, std::shared_ptr<const FileDescriptor> file, std::string where);
  bool read_plain(std::int64_t begin, std::int64_t count, std::size_t width, void* out) const;

  Hdf5Id id_;
  std::shared_ptr<const FileDescriptor> file_;
  std::string where_;
  DType dtype_;
  Shape shape_;
  bool is_bool_ = false;
  bool bits_ = false;         // bf16 stored as 16-bit integers
  bool native_ = false;       // the file has the byte layout of memory
  std::int64_t offset_ = -1;  // of a contiguous array in the file; -1: not contiguous, or converted
  std::int64_t chunk_rows_ = 1;
};

class Hdf5File {
 public:
  /// Upper limit of the elements of an array. A header with more is damaged.
  static constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

  /// Opens a file for reading. The Error distinguishes: no such file, a directory, not HDF5, truncated or
  /// damaged.
  explicit Hdf5File(const std::string& path);

  /// The group at `name`, such as "nodes/paper", as a file of its own: its names are those of the group, and
  /// path() is "dblp.h5: /nodes/paper". Links to other files are refused.
  Hdf5File group(const std::string& name) const;

  const std::string& path() const { return path_; }

  /// Whether the root group has an object of that name, of any kind. "a/b" is b in the group a of this file.
  bool has(const std::string& name) const;
  /// Throws Error unless it is an array of integers, floats or bools with at most 4 dimensions whose values
  /// are all stored in this file. Links to other files are refused. The declared size is checked against the
  /// stored bytes, so a damaged header cannot cause a huge allocation.
  Hdf5Array array(const std::string& name) const;

  /// Attributes of the root group; nullopt if absent. Throws Error if the type is another one.
  std::optional<std::int64_t> integer(const std::string& attribute) const;
  std::optional<std::string> text(const std::string& attribute) const;

 private:
  friend class Hdf5Writer;
  Hdf5File() = default;
  std::string where(const std::string& name) const;  // "cora.h5: /x", the beginning of errors

  std::string path_;
  bool is_group_ = false;
  std::shared_ptr<const FileDescriptor> file_;
  Hdf5Id id_;
};

}  // namespace rodeo
