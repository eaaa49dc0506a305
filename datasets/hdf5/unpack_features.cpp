#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>

#include "datasets/feature_file.h"
#include "datasets/hdf5/array_names.h"
#include "datasets/hdf5/write_dataset.h"
#include "datasets/hdf5_writer.h"
#include "ops/combine.h"

namespace rodeo {
namespace {

/// Copies what a dataset file has but its features.
void copy_all_but_features(const Hdf5File& file, Hdf5Writer& out, std::optional<std::int64_t> num_features) {
  for (const std::string_view name : hdf5::kIntegerAttributes)
    if (const auto value = name == "num_features" ? num_features : file.integer(std::string(name)))
      out.attribute(std::string(name), *value);
  for (const char* name : hdf5::kTextAttributes)
    if (const auto value = file.text(name)) out.attribute(name, *value);
  for (const std::string_view name : hdf5::kArrays)
    if (name[0] != 'x' && file.has(std::string(name))) {
      file.array(std::string(name));  // refuses links to other files, and damaged ones
      out.copy(std::string(name), file);
    }
}

/// `x` with the entries of `columns` [nodes, columns] at the end of each row.
SparseFeatures with_columns(const SparseFeatures& x, std::int64_t features, const Tensor& columns) {
  const std::int64_t nodes = columns.dim(0), more = columns.dim(1), entries = x.num_entries() + nodes * more;
  const SparseFeatures out{Tensor::empty({nodes + 1}, DType::kI64), Tensor::empty({entries}, DType::kI32),
                           Tensor::empty({entries})};
  const auto* p = x.indptr.data<std::int64_t>();
  for (std::int64_t i = 0; i <= nodes; ++i) out.indptr.data<std::int64_t>()[i] = p[i] + i * more;
  for (std::int64_t i = 0; i < nodes; ++i) {
    auto* column = out.indices.data<std::int32_t>() + p[i] + i * more;
    column =
        std::copy(x.indices.data<std::int32_t>() + p[i], x.indices.data<std::int32_t>() + p[i + 1], column);
    std::iota(column, column + more, static_cast<std::int32_t>(features));
    auto* value = out.data.data<float>() + p[i] + i * more;
    value = std::copy(x.data.data<float>() + p[i], x.data.data<float>() + p[i + 1], value);
    std::copy_n(columns.data<float>() + i * more, more, value);
  }
  return out;
}

}  // namespace

void unpack_features(const std::string& from, const std::string& to) {
  const Hdf5File file(from);
  const Hdf5Array x = file.array("x");
  check(x.shape().rank() == 2 && x.shape()[1] > 0, x.where(), " must be numbers [nodes, features], got ",
        x.shape());
  Hdf5Writer out(to);
  copy_all_but_features(file, out, file.integer("num_features"));
  const DType dtype = x.dtype() == DType::kF16 || x.dtype() == DType::kBF16 ? x.dtype() : DType::kF32;
  constexpr std::int64_t kElements = std::int64_t{1} << 22;
  const std::int64_t rows = x.shape()[0], columns = x.shape()[1], chunk = x.chunk_rows();
  // Whole chunks, so that none is decompressed twice.
  const std::int64_t step = std::max<std::int64_t>(1, kElements / columns / chunk) * chunk;
  out.write_blocks("x", dtype, x.shape(), [&](std::int64_t begin) {
    const Tensor block = Tensor::empty({std::min(step, rows - begin), columns}, dtype);
    x.read(Shape{begin, 0}, block);
    return block;
  });
  out.commit();
}

void append_features(const std::string& from, const std::string& to, const Dataset& dataset,
                     const Tensor& columns) {
  const Hdf5File file(from);
  Hdf5Writer out(to);
  copy_all_but_features(file, out, dataset.num_features + columns.dim(1));
  if (dataset.x_sparse.defined()) {
    const SparseFeatures x = with_columns(dataset.x_sparse, dataset.num_features, columns);
    hdf5::write_array(out, "x_indptr", x.indptr);
    hdf5::write_array(out, "x_indices", x.indices);
    hdf5::write_array(out, "x_data", x.data);
  } else {
    hdf5::write_array(out, "x", dataset.x.defined() ? concat_columns({dataset.x, columns}) : columns);
  }
  out.commit();
}

}  // namespace rodeo
