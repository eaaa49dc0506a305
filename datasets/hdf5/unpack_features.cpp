#include <algorithm>

#include "datasets/feature_file.h"
#include "datasets/hdf5_writer.h"

namespace rodeo {

void unpack_features(const std::string& from, const std::string& to) {
  const Hdf5File file(from);
  const Hdf5Array x = file.array("x");
  check(x.shape().rank() == 2 && x.shape()[1] > 0, x.where(), " must be numbers [nodes, features], got ",
        x.shape());
  Hdf5Writer out(to);
  for (const char* name : {"rodeo_schema", "num_nodes", "num_features", "num_classes"})
    if (const auto value = file.integer(name)) out.attribute(name, *value);
  for (const char* name : {"name", "class_names"})
    if (const auto value = file.text(name)) out.attribute(name, *value);
  for (const char* name : {"edge_index", "indptr", "indices", "edge_weight", "edge_attr", "y", "train_mask",
                           "val_mask", "test_mask", "graph_ptr", "graph_y", "node_id", "val_edges",
                           "test_edges", "val_negative_edges", "test_negative_edges", "node_names"})
    if (file.has(name)) {
      file.array(name);  // refuses links to other files, and damaged ones
      out.copy(name, file);
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
