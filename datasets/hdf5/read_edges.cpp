#include <cmath>

#include "datasets/hdf5/dataset_reader.h"
#include "ops/validate.h"

namespace rodeo {

namespace {

constexpr std::int64_t kNoId = -1;

bool is_matrix(const Hdf5Array& array) {
  return array.shape().rank() == 2;
}

// An array on a GPU has 32 bits of an id, and none of the host's: the file has the value that it had.
[[noreturn]] void fail_id(const Hdf5Array& array, std::int64_t row, std::int64_t at, std::int64_t limit) {
  std::int64_t id = 0;
  array.read(is_matrix(array) ? Shape{row, at} : Shape{at}, {1}, DType::kI64, &id);
  fail(array.where(), "[", is_matrix(array) ? str(row, ", ", at) : str(at), "] is ", id, ", outside [0, ",
       limit, ")");
}

[[noreturn]] void fail_indptr(const Hdf5Array& indptr, std::int64_t at, std::int64_t entries,
                              std::string_view entries_name) {
  std::int64_t value = 0, before = 0;
  indptr.read({at}, {1}, DType::kI64, &value);
  if (at > 0) indptr.read({at - 1}, {1}, DType::kI64, &before);
  check(at > 0 || value == 0, indptr.where(), " must start at 0, got ", value);
  check(value >= before, indptr.where(), " must not decrease, but [", at, "] is ", value, " after ", before);
  fail(indptr.where(), " must end at the length of ", entries_name, ", ", entries, ", got ", value);
}

/// visit(values in `out`, their number, begin) for each block of a row of ids, which are i32 in `out`. An id
/// that 32 bits do not hold becomes kNoId.
template <class Visit>
void for_each_block(const Hdf5Array& array, std::int64_t row, const Tensor& out, StagingMemory& memory,
                    Visit&& visit) {
  const std::int64_t count = out.numel();
  const bool wide = array.dtype() == DType::kI64;
  const Tensor block = Tensor::empty({wide ? std::min(kBlock, count) : 0}, DType::kI64);
  Staging staging(out, kBlock, memory);
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t n = std::min(kBlock, count - begin);
    auto* to = static_cast<std::int32_t*>(staging.next(begin, n));
    array.read(is_matrix(array) ? Shape{row, begin} : Shape{begin}, {n}, wide ? DType::kI64 : DType::kI32,
               wide ? block.raw() : static_cast<void*>(to));
    const auto* from = block.data<std::int64_t>();
#pragma omp parallel for if (wide)
    for (std::int64_t i = 0; i < (wide ? n : 0); ++i)
      to[i] = static_cast<std::int32_t>(from[i] >= 0 && from[i] <= kMaxNodes ? from[i] : kNoId);
    visit(to, n, begin);
  }
  staging.finish();
}

}  // namespace

Tensor DatasetReader::read_unchecked_ids(const Hdf5Array& array, std::int64_t row) const {
  const Tensor out = Tensor::empty({array.shape()[-1]}, DType::kI32, options_.device);
  for_each_block(array, row, out, staging_, [](const std::int32_t*, std::int64_t, std::int64_t) {});
  return out;
}

DatasetReader::Ids DatasetReader::read_ids_on_host(const Hdf5Array& array, std::int64_t row,
                                                   std::int64_t limit) const {
  Ids out{Tensor::empty({array.shape()[-1]}, DType::kI32, options_.device)};
  for_each_block(
      array, row, out.values, staging_, [&](const std::int32_t* id, std::int64_t n, std::int64_t begin) {
        std::uint32_t largest = 0;  // negative ids become huge
#pragma omp parallel for reduction(max : largest)
        for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, static_cast<std::uint32_t>(id[i]));
        if (largest >= static_cast<std::uint64_t>(limit))
          fail_id(array, row,
                  begin + find_first(n, [=](std::int64_t i) { return id[i] < 0 || id[i] >= limit; }), limit);
        out.largest = std::max<std::int64_t>(out.largest, largest);
      });
  return out;
}

// Reads one row of an id matrix, or an id vector. Ids fit in 32 bits, because graphs have fewer than 2^31
// nodes. Without a limit, any such id is accepted, and Ids::largest is filled.
DatasetReader::Ids DatasetReader::read_ids(const Hdf5Array& array, std::int64_t row,
                                           std::optional<std::int64_t> limit) const {
  if (!options_.device.is_cuda() || !limit) return read_ids_on_host(array, row, limit.value_or(kMaxNodes));
  Ids out{read_unchecked_ids(array, row)};
  const std::int64_t bad = first_outside(out.values, *limit);
  if (bad >= 0) fail_id(array, row, bad, *limit);
  return out;
}

Tensor DatasetReader::read_indptr(const Hdf5Array& indptr, std::int64_t entries,
                                  std::string_view entries_name) const {
  const Tensor out = indptr.read(DType::kI64);
  const auto* p = out.data<std::int64_t>();
  const std::int64_t n = indptr.shape()[0] - 1;
  const std::int64_t bad = find_first(n + 1, [&](std::int64_t i) {
    return p[i] < (i > 0 ? p[i - 1] : 0) || (i == 0 && p[i] != 0) || (i == n && p[i] != entries);
  });
  if (bad <= n) fail_indptr(indptr, bad, entries, entries_name);
  return out;
}

void DatasetReader::read_csr(const Hdf5Array& indptr, const Hdf5Array& indices) {
  if (options_.device.is_cuda()) return read_csr_on_device(indptr, indices);
  step([&] { out_.indptr = read_indptr(indptr, indices.shape()[0], "/indices"); });
  step([&] { out_.indices = read_ids(indices, 0, nodes_).values; });
}

void DatasetReader::read_csr_on_device(const Hdf5Array& indptr, const Hdf5Array& indices) {
  const Tensor ids = read_unchecked_ids(indices, 0);
  const std::int64_t count = indptr.shape()[0];
  const Tensor ptr = Tensor::empty({count}, DType::kI64, options_.device);
  constexpr std::int64_t kPtrBlock = kBlock / 2;  // as many bytes as a block of ids
  Staging staging(ptr, kPtrBlock, staging_);
  for (std::int64_t begin = 0; begin < count; begin += kPtrBlock) {
    const std::int64_t n = std::min(kPtrBlock, count - begin);
    indptr.read({begin}, {n}, DType::kI64, staging.next(begin, n));
  }
  staging.finish();
  const CsrScan scan = scan_csr(ptr, ids, nodes_);
  if (scan.bad_row_ptr >= 0) fail_indptr(indptr, scan.bad_row_ptr, ids.numel(), "/indices");
  if (scan.bad_col >= 0) fail_id(indices, 0, scan.bad_col, nodes_);
  out_.indptr = ptr, out_.indices = ids;
}

// Reads a vector or a matrix of finite floats.
void DatasetReader::read_finite(const Hdf5Array& array, std::int64_t rows_per_block,
                                const Tensor& out) const {
  const bool matrix = is_matrix(array), on_host = !out.device().is_cuda();
  const std::int64_t rows = out.dim(0), width = matrix ? out.dim(1) : 1;
  const auto check_position = [&](std::int64_t bad) {
    if (bad >= 0)
      fail(array.where(), "[", matrix ? str(bad / width, ", ", bad % width) : str(bad),
           "] is not a finite float");
  };
  Staging staging(out, std::min(rows_per_block, rows) * width, staging_);
  for (std::int64_t begin = 0; begin < rows && width > 0; begin += rows_per_block) {
    const std::int64_t n = std::min(rows_per_block, rows - begin);
    auto* v = static_cast<float*>(staging.next(begin * width, n * width));
    array.read(matrix ? Shape{begin, 0} : Shape{begin}, matrix ? Shape{n, width} : Shape{n}, DType::kF32, v);
    if (!on_host) continue;
    const std::int64_t bad = find_first(n * width, [=](std::int64_t i) { return !std::isfinite(v[i]); });
    check_position(bad < n * width ? begin * width + bad : -1);
  }
  staging.finish();
  if (!on_host) check_position(first_not_finite(out));
}

Tensor DatasetReader::read_floats(const Hdf5Array& array) const {
  const Tensor out = Tensor::empty({array.shape()[0]}, DType::kF32, options_.device);
  read_finite(array, kBlock, out);
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
      const Hdf5Array indptr = open_integers("indptr", 1, "integer [nodes + 1]");
      const Hdf5Array indices = open_integers("indices", 1, "integer [edges]");
      check(indptr.shape()[0] >= 1, indptr.where(), " must have nodes + 1 entries, got none");
      set_num_nodes(indptr.shape()[0] - 1, indptr.where(), "/indptr");
      edges_ = indices.shape()[0];
      read_csr(indptr, indices);
    });
  if (list)
    step([&] {
      const Hdf5Array edges = open_integers("edge_index", 2, "integer [2, edges]");
      check(edges.shape()[0] == 2, edges.where(), " must be integer [2, edges], got ", edges.dtype(), " ",
            edges.shape());
      edges_ = edges.shape()[1];
      const auto limit = nodes_ < 0 ? std::nullopt : std::optional(nodes_);
      Ids src, dst;
      step([&] { src = read_ids(edges, 0, limit); });
      step([&] { dst = read_ids(edges, 1, limit); });
      out_.src = src.values, out_.dst = dst.values;
      if (nodes_ < 0) set_num_nodes(std::max(src.largest, dst.largest) + 1, path, "/edge_index");
    });
}

void DatasetReader::read_weights() {
  if (!file_.has("edge_weight")) return;
  const Hdf5Array weight = open_numbers("edge_weight", 1, "numbers [edges]");
  check(edges_ < 0 || weight.shape()[0] == edges_, weight.where(), " must have a value for each of ", edges_,
        " edges, got ", weight.shape()[0]);
  out_.edge_weight = read_floats(weight);
}

}  // namespace rodeo
