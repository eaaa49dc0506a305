/// Features of mini-batches that stay in the file: --features-on disk.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/upload_buffer.h"
#include "datasets/feature_file.h"
#include "ops/row_cache.h"
#include "train/task/feature_scale.h"

namespace rodeo {

/// Rows of /x as a model reads them: scaled, and of its dtype. The values are the bits that converting
/// the whole matrix on the device gives. The host holds the rows that are being read, and 4 bytes a node if
/// there is a cache.
class DiskFeatures {
 public:
  /// Throws Error as FeatureFile does.
  DiskFeatures(const std::string& path, FeatureScale scale, DType dtype, Device device);

  const Shape& shape() const { return file_.shape(); }  // [nodes, features]
  DType dtype() const { return dtype_; }
  DType file_dtype() const { return file_.dtype(); }
  Device device() const { return device_; }

  /// Begins to read rows `index`, i64 [k] on the device, for which it waits. The function that it returns
  /// waits for the rows and returns them: [k, features] on the device. It is called once, on the same stream,
  /// while this object lives. Throws Error as FeatureFile::start() and FeatureFile::Reading::wait() do.
  std::function<Tensor()> read(const Tensor& index) const;

  /// Reads in pieces of about 64 MiB on the host, one after the other.
  Tensor read_in_pieces(const Tensor& index) const;

  /// From now on rows of `cache` are not read. `cache` is one of these rows, as they are here.
  void set_cache(RowCache cache);

  /// Bytes that were read from the file so far.
  std::int64_t bytes_read() const { return file_.bytes_read(); }

 private:
  struct Begun;
  std::unique_ptr<UploadBuffer> free_buffer() const;
  Tensor finish(Begun& begun) const;

  FeatureFile file_;
  FeatureScale scale_;
  DType dtype_;
  Device device_;
  RowCache cache_;
  std::vector<std::int32_t> slot_;  // cache_.slot on the host
  mutable std::mutex mutex_;        // of free_
  mutable std::vector<std::unique_ptr<UploadBuffer>> free_;
};

}  // namespace rodeo
