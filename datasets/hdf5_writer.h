/// Writing numeric arrays and attributes to HDF5 files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "datasets/hdf5_file.h"

namespace rodeo {

/// A new file. It is built beside `path` and takes that name, replacing what had it, by commit() alone:
/// nobody ever sees half of it, and without commit() nothing is left behind. Failures are Errors as in
/// Hdf5File.
class Hdf5Writer {
 public:
  explicit Hdf5Writer(const std::string& path);
  ~Hdf5Writer();
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  enum class Storage {
    kPlain,
    kCompressed,  // in chunks, byte-shuffled, gzip
  };
  /// `values` is on the host, of any dtype and shape.
  void write(const std::string& name, const Tensor& values, Storage storage = Storage::kPlain);
  /// A matrix from its rows: tensors [n] of one dtype.
  void write_rows(const std::string& name, const std::vector<Tensor>& rows,
                  Storage storage = Storage::kPlain);

  /// Attributes of the root group; text is variable-length UTF-8.
  void attribute(const std::string& name, std::int64_t value);
  void attribute(const std::string& name, const std::string& value);

  void commit();

 private:
  Hdf5Id create(const std::string& name, DType dtype, const Shape& shape, Storage storage);

  std::string path_, partial_;
  Hdf5Id id_;
};

}  // namespace rodeo
