/// Features that stay in their file: rows are read when they are needed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"
#include "datasets/dataset.h"

namespace rodeo {

/// Dense features of a file, /x, of which a program holds no more than the rows that it asks for. The file
/// must not change while it is open.
class FeatureFile {
 public:
  /// Opens the file and checks that /x is f32, f16 or bf16 [nodes, features], in one piece and not
  /// compressed; the Error says how to write such a file. Reads no features. Threads that read the file are
  /// started with it.
  explicit FeatureFile(const std::string& path);
  ~FeatureFile();
  FeatureFile(const FeatureFile&) = delete;
  FeatureFile& operator=(const FeatureFile&) = delete;

  /// [nodes, features]
  const Shape& shape() const;
  /// The dtype of the values in the file: f32, f16 or bf16.
  DType dtype() const;

  /// Rows that are being read. The destructor waits for those that have begun, and drops the others.
  class Reading {
   public:
    virtual ~Reading() = default;
    /// Waits until all rows are there. Throws Error that names the row for one that is not finite, and where
    /// the file has become shorter.
    virtual void wait() = 0;
  };

  /// Begins to read rows `row`, each in [0, nodes), in any order, perhaps repeated; returns at once. Row
  /// row[i] is written to place i of `out`: [k, features] of dtype() in host memory, which has to stay until
  /// the reading is destroyed. Rows near each other are read at once. Readings are served in the order in
  /// which they began. Throws Error for a row outside the file.
  std::unique_ptr<Reading> start(std::vector<std::int64_t> row, void* out) const;

  /// Bytes that were read from the file so far, also those between rows that are read at once.
  std::int64_t bytes_read() const;

 private:
  struct State;
  class Started;
  std::unique_ptr<State> state_;
};

/// Writes a copy of a dataset file that FeatureFile reads: /x in one piece and not compressed, as f32, or f16
/// or bf16 where it is that; the other arrays of the schema as they are. Holds some MiB of /x at a time.
/// Throws Error for a file without dense features, and as Hdf5File and Hdf5Writer do.
void unpack_features(const std::string& from, const std::string& to);

/// Writes a copy of a dataset file with the columns f32 [nodes, columns] after its features, or as its
/// features where it has none; the other arrays of the schema as they are. Sparse features stay sparse.
///   dataset   what load_dataset(from) returned
/// Throws Error as Hdf5File and Hdf5Writer do.
void append_features(const std::string& from, const std::string& to, const Dataset& dataset,
                     const Tensor& columns);

/// Empty if FeatureFile reads the features of the file; else why not, and what to do: the text of its Error.
std::string feature_file_reason(const std::string& path);

}  // namespace rodeo
