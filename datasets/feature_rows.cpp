#include "datasets/feature_rows.h"

#include <algorithm>
#include <cmath>

#include "core/find_first.h"
#include "datasets/hdf5_file.h"

namespace rodeo {

Tensor load_feature_rows(const std::string& path, std::int64_t begin, std::int64_t count) {
  const Hdf5File file(path);
  const Hdf5Array x = file.array("x");
  check(x.shape().rank() == 2 && x.shape()[1] > 0, x.where(), " must be numbers [nodes, features], got ",
        x.shape());
  const std::int64_t width = x.shape()[1];
  check(begin >= 0 && count >= 0 && begin + count <= x.shape()[0], x.where(), " has ", x.shape()[0],
        " rows: rows ", begin, " to ", begin + count, " are not all there");
  const Tensor out = Tensor::empty({count, width}, DType::kF32);
  constexpr std::int64_t kBlock = std::int64_t{1} << 24;  // elements
  const std::int64_t chunk = x.chunk_rows();
  const std::int64_t step = std::max<std::int64_t>(1, kBlock / width / chunk) * chunk;
  for (std::int64_t row = 0; row < count;) {
    // Up to the end of a chunk, so that none is decompressed twice.
    const std::int64_t rows = std::min(count - row, step - (begin + row) % step);
    x.read(Shape{begin + row, 0}, out.slice(row, row + rows));
    row += rows;
  }
  const float* value = out.data<float>();
  const std::int64_t bad = find_first(out.numel(), [=](std::int64_t i) { return !std::isfinite(value[i]); });
  check(bad == out.numel(), x.where(), "[", begin + bad / width, ", ", bad % width,
        "] is not a finite float");
  return out;
}

}  // namespace rodeo
