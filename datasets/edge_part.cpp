#include "datasets/edge_part.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/find_first.h"
#include "datasets/hdf5_file.h"

namespace rodeo {
namespace {

constexpr std::int64_t kBlock = std::int64_t{1} << 22;  // elements

/// The position of an id in a list or in a row of a matrix.
std::string place(const Hdf5Array& array, std::int64_t row, std::int64_t at) {
  return array.shape().rank() == 2 ? str(array.where(), "[", row, ", ", at, "]")
                                   : str(array.where(), "[", at, "]");
}

Tensor read_ids(const Hdf5Array& array, std::int64_t row, std::int64_t begin, std::int64_t end,
                std::int64_t limit) {
  const Tensor out = Tensor::empty({end - begin}, DType::kI32);
  const bool wide = array.dtype() == DType::kI64;
  const Tensor block = Tensor::empty({wide ? std::min(kBlock, end - begin) : 0}, DType::kI64);
  for (std::int64_t at = begin; at < end; at += kBlock) {
    const std::int64_t n = std::min(kBlock, end - at);
    auto* const to = out.data<std::int32_t>() + (at - begin);
    const auto* const from = block.data<std::int64_t>();
    array.read(array.shape().rank() == 2 ? Shape{row, at} : Shape{at}, {n}, wide ? DType::kI64 : DType::kI32,
               wide ? block.raw() : to);
    const auto id = [=](std::int64_t i) { return wide ? from[i] : to[i]; };
    const std::int64_t bad = find_first(n, [=](std::int64_t i) { return id(i) < 0 || id(i) >= limit; });
    check(bad == n, place(array, row, at + std::min(bad, n - 1)), " is ", id(std::min(bad, n - 1)),
          ", outside [0, ", limit, ")");
#pragma omp parallel for if (wide)
    for (std::int64_t i = 0; i < (wide ? n : 0); ++i) to[i] = static_cast<std::int32_t>(from[i]);
  }
  return out;
}

/// The row of each edge in [begin, end) of a CSR.
Tensor rows_of(const Hdf5Array& indptr, std::int64_t edges, std::int64_t begin, std::int64_t end) {
  const Tensor out = Tensor::empty({end - begin}, DType::kI32);
  const std::int64_t rows = indptr.shape()[0] - 1;
  std::int64_t before = 0;  // the last entry of the block before
  for (std::int64_t at = 0; at <= rows; at += kBlock) {
    const std::int64_t n = std::min(kBlock, rows + 1 - at);
    const Tensor block = Tensor::empty({n}, DType::kI64);
    indptr.read(Shape{at}, block);
    const auto* p = block.data<std::int64_t>();
    for (std::int64_t i = 0; i < n; ++i) {
      check(at + i > 0 || p[i] == 0, indptr.where(), " must start at 0, got ", p[i]);
      check(p[i] >= before, indptr.where(), " must not decrease, but [", at + i, "] is ", p[i], " after ",
            before);
      check(p[i] <= edges && (at + i < rows || p[i] == edges), indptr.where(),
            " must end at the length of /indices, ", edges, ", got ", p[i], " at [", at + i, "]");
      for (std::int64_t e = std::max(before, begin); e < std::min(p[i], end); ++e)
        out.data<std::int32_t>()[e - begin] = static_cast<std::int32_t>(at + i - 1);
      before = p[i];
    }
  }
  return out;
}

Hdf5Array open_ids(const Hdf5File& file, const char* name, int rank, std::string_view rule) {
  Hdf5Array array = file.array(name);
  check(!is_float(array.dtype()) && array.shape().rank() == rank, array.where(), " must be ", rule, ", got ",
        array.dtype(), " ", array.shape());
  return array;
}

}  // namespace

std::int64_t edge_part_begin(std::int64_t edges, int part, int parts) {
  return edges / parts * part + edges % parts * part / parts;  // a product with `edges` may be too large
}

EdgePart load_edge_part(const std::string& path, std::int64_t nodes, int part, int parts) {
  check(part >= 0 && part < parts, "[load_edge_part] part must be in [0, ", parts, "), got ", part);
  const Hdf5File file(path);
  const bool list = file.has("edge_index"), csr = file.has("indptr") || file.has("indices");
  check(list || csr, path, ": /edge_index is missing, and so are /indptr and /indices");
  check(!list || !csr, path, ": has two sets of edges, /edge_index and /indptr with /indices");
  EdgePart out;
  std::int64_t edges = 0, begin = 0, end = 0;
  const auto cut = [&](std::int64_t count) {
    edges = count;
    begin = edge_part_begin(count, part, parts), end = edge_part_begin(count, part + 1, parts);
  };
  if (list) {
    const Hdf5Array index = open_ids(file, "edge_index", 2, "integer [2, edges]");
    check(index.shape()[0] == 2, index.where(), " must be integer [2, edges], got ", index.dtype(), " ",
          index.shape());
    cut(index.shape()[1]);
    out.src = read_ids(index, 0, begin, end, nodes), out.dst = read_ids(index, 1, begin, end, nodes);
  } else {
    const Hdf5Array indptr = open_ids(file, "indptr", 1, "integer [nodes + 1]");
    const Hdf5Array indices = open_ids(file, "indices", 1, "integer [edges]");
    check(indptr.shape()[0] == nodes + 1, indptr.where(), " implies ", indptr.shape()[0] - 1,
          " nodes, and there are ", nodes);
    cut(indices.shape()[0]);
    out.dst = rows_of(indptr, edges, begin, end), out.src = read_ids(indices, 0, begin, end, nodes);
  }
  if (!file.has("edge_weight")) return out;
  const Hdf5Array weight = file.array("edge_weight");
  check(weight.shape() == Shape{edges}, weight.where(), " must have a value for each of ", edges,
        " edges, got ", weight.shape());
  out.weight = Tensor::empty({end - begin}, DType::kF32);
  if (end > begin) weight.read(Shape{begin}, out.weight);
  const float* value = out.weight.data<float>();
  const std::int64_t bad = find_first(end - begin, [=](std::int64_t i) { return !std::isfinite(value[i]); });
  check(bad == end - begin, weight.where(), "[", begin + bad, "] is not a finite float");
  return out;
}

}  // namespace rodeo
