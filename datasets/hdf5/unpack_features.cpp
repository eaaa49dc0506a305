#include <algorithm>
#include <string_view>

#include "datasets/feature_file.h"
#include "datasets/hdf5/array_names.h"
#include "datasets/hdf5_writer.h"

namespace rodeo {

void unpack_features(const std::string& from, const std::string& to) {
  const Hdf5File file(from);
  const Hdf5Array x = file.array("x");
  check(x.shape().rank() == 2 && x.shape()[1] > 0, x.where(), " must be numbers [nodes, features], got ",
        x.shape());
  Hdf5Writer out(to);
  for (const char* name : hdf5::kIntegerAttributes)
    if (const auto value = file.integer(name)) out.attribute(name, *value);
  for (const char* name : hdf5::kTextAttributes)
    if (const auto value = file.text(name)) out.attribute(name, *value);
  for (const std::string_view name : hdf5::kArrays)
    if (name[0] != 'x' && file.has(std::string(name))) {
      file.array(std::string(name));  // refuses links to other files, and damaged ones
      out.copy(std::string(name), file);
    }
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

}  // namespace rodeo
