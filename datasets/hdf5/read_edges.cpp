#include <cmath>
#include <type_traits>

#include "core/staging.h"
#include "datasets/hdf5/dataset_reader.h"

namespace rodeo {

// Reads one row of an id matrix, or an id vector. Ids fit in 32 bits, because graphs have fewer than 2^31
// nodes.
DatasetReader::Ids DatasetReader::read_ids(const Hdf5Array& array, std::int64_t row,
                                           std::int64_t limit) const {
  const bool matrix = array.shape().rank() == 2;
  const std::int64_t count = array.shape()[-1];
  Ids out{Tensor::empty({count}, DType::kI32, options_.device)};
  Staging staging(out.values, kBlock);
  const auto read = [&]<class I>(I) {
    using U = std::make_unsigned_t<I>;  // negative ids become huge
    constexpr bool kNarrow = sizeof(I) == sizeof(std::int32_t);
    const Tensor block = Tensor::empty({kNarrow ? 0 : std::min(kBlock, count)}, dtype_of<I>());
    for (std::int64_t begin = 0; begin < count; begin += kBlock) {
      const std::int64_t n = std::min(kBlock, count - begin);
      auto* to = static_cast<std::int32_t*>(staging.next(begin, n));
      const I* from = kNarrow ? reinterpret_cast<const I*>(to) : block.data<I>();
      array.read(matrix ? Shape{row, begin} : Shape{begin}, {n}, dtype_of<I>(),
                 kNarrow ? static_cast<void*>(to) : block.raw());
      U largest = 0;
#pragma omp parallel for reduction(max : largest)
      for (std::int64_t i = 0; i < n; ++i) {
        const I id = from[i];
        if constexpr (!kNarrow) to[i] = static_cast<std::int32_t>(id);
        largest = std::max(largest, static_cast<U>(id));
      }
      if (largest < static_cast<std::uint64_t>(limit)) {
        out.largest = std::max(out.largest, static_cast<std::int64_t>(largest));
        continue;
      }
      const std::int64_t bad = find_first(n, [&](std::int64_t i) { return from[i] < 0 || from[i] >= limit; });
      const std::string place = matrix ? str(row, ", ", begin + bad) : str(begin + bad);
      fail(array.where(), "[", place, "] is ", from[bad], ", outside [0, ", limit, ")");
    }
  };
  if (array.dtype() == DType::kI64)
    read(std::int64_t{});
  else
    read(std::int32_t{});
  staging.finish();
  return out;
}

Tensor DatasetReader::read_indptr(const Hdf5Array& indptr, std::int64_t entries,
                                  std::string_view entries_name) const {
  const Tensor out = indptr.read(DType::kI64);
  const auto* p = out.data<std::int64_t>();
  const std::int64_t n = indptr.shape()[0] - 1;
  check(p[0] == 0, indptr.where(), " must start at 0, got ", p[0]);
  const std::int64_t falls = find_first(n, [&](std::int64_t i) { return p[i + 1] < p[i]; });
  check(falls == n, indptr.where(), " must not decrease, but [", falls + 1, "] is ",
        p[std::min(falls + 1, n)], " after ", p[falls]);
  check(p[n] == entries, indptr.where(), " must end at the length of ", entries_name, ", ", entries, ", got ",
        p[n]);
  return out;
}

// Reads a vector of finite floats.
Tensor DatasetReader::read_floats(const Hdf5Array& array) const {
  const std::int64_t count = array.shape()[0];
  const Tensor out = Tensor::empty({count}, DType::kF32, options_.device);
  Staging staging(out, kBlock);
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t n = std::min(kBlock, count - begin);
    auto* v = static_cast<float*>(staging.next(begin, n));
    array.read({begin}, {n}, DType::kF32, v);
    const std::int64_t bad = find_first(n, [&](std::int64_t i) { return !std::isfinite(v[i]); });
    if (bad < n) fail(array.where(), "[", begin + bad, "] is not a finite float");
  }
  staging.finish();
  return out;
}

void DatasetReader::read_edges() {
  const std::string& path = file_.path();
  const bool list = file_.has("edge_index"), csr = file_.has("indptr") || file_.has("indices");
  step([&] {
    check(list || csr, path, ": /edge_index is missing, and so are /indptr and /indices");
    check(!list || !csr, path, ": has two sets of edges, /edge_index and /indptr with /indices");
  });
  if (csr)
    step([&] {
      const Hdf5Array indptr = open("indptr", false, 1, "integer [nodes + 1]");
      const Hdf5Array indices = open("indices", false, 1, "integer [edges]");
      check(indptr.shape()[0] >= 1, indptr.where(), " must have nodes + 1 entries, got none");
      set_num_nodes(indptr.shape()[0] - 1, indptr.where(), "/indptr");
      edges_ = indices.shape()[0];
      step([&] { out_.indptr = read_indptr(indptr, indices.shape()[0], "/indices"); });
      step([&] { out_.indices = read_ids(indices, 0, nodes_).values; });
    });
  if (list)
    step([&] {
      const Hdf5Array edges = open("edge_index", false, 2, "integer [2, edges]");
      check(edges.shape()[0] == 2, edges.where(), " must be integer [2, edges], got ", edges.dtype(), " ",
            edges.shape());
      edges_ = edges.shape()[1];
      const std::int64_t limit = nodes_ < 0 ? kMaxNodes : nodes_;
      Ids src, dst;
      step([&] { src = read_ids(edges, 0, limit); });
      step([&] { dst = read_ids(edges, 1, limit); });
      out_.src = src.values, out_.dst = dst.values;
      if (nodes_ < 0) set_num_nodes(std::max(src.largest, dst.largest) + 1, path, "/edge_index");
    });
  out_.num_nodes = std::max<std::int64_t>(nodes_, 0);
}

void DatasetReader::read_weights() {
  if (!file_.has("edge_weight")) return;
  const Hdf5Array weight = open("edge_weight", true, 1, "floating point [edges]");
  check(edges_ < 0 || weight.shape()[0] == edges_, weight.where(), " must have a value for each of ", edges_,
        " edges, got ", weight.shape()[0]);
  out_.edge_weight = read_floats(weight);
}

}  // namespace rodeo
