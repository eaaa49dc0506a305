/// Writing numeric arrays and attributes to HDF5 files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "datasets/hdf5_file.h"

namespace rodeo {

/// A new file, written under a temporary name beside `path`. commit() renames it to `path` atomically and
/// replaces an existing file; without commit() the destructor removes it. Links are followed. Failures throw
/// Error as in Hdf5File, also where something else than a file stands at `path`.
class Hdf5Writer {
 public:
  explicit Hdf5Writer(const std::string& path);
  ~Hdf5Writer();
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  enum class Storage {
    kPlain,
    kCompressed,  // chunked, byte shuffle, gzip
  };
  /// `values` is a host tensor of any dtype and shape.
  void write(const std::string& name, const Tensor& values, Storage storage = Storage::kPlain);
  /// Writes a matrix given its rows: tensors [n] of one dtype.
  void write_rows(const std::string& name, const std::vector<Tensor>& rows,
                  Storage storage = Storage::kPlain);

  /// Writes a matrix of `shape`, not compressed, block by block: block(begin) returns its rows from `begin`
  /// on, a host tensor [rows, n] of `dtype`, at least one.
  void write_blocks(const std::string& name, DType dtype, const Shape& shape,
                    const std::function<Tensor(std::int64_t begin)>& block);
  /// Copies an array of another file as it is stored there, with its attributes.
  void copy(const std::string& name, const Hdf5File& from);

  /// Creates a group, and those that it is in, such as "nodes/paper". What is written next is in it.
  void enter(const std::string& group);

  /// Attributes of the root group, or of the group that was entered. Strings are variable-length UTF-8.
  void attribute(const std::string& name, std::int64_t value);
  void attribute(const std::string& name, const std::string& value);

  void commit();

 private:
  Hdf5Id create(const std::string& name, DType dtype, const Shape& shape, Storage storage);

  std::string path_;  // as given, for error messages
  std::string target_, partial_;
  Hdf5Id id_;
  Hdf5Id group_;  // that was entered; null: the root
  std::int64_t place() const { return group_ ? *group_ : *id_; }
};

}  // namespace rodeo
