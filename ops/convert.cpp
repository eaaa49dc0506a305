#include "ops/convert.h"

#include <limits>

#include "ops/checks.h"
#include "ops/index_checks.h"
#include "ops/kernels/graph.h"
#include "ops/sparse/derived.h"
#include "ops/sparse/row_order.h"

namespace rodeo {
namespace {

constexpr std::int64_t kMaxNodes = std::numeric_limits<std::int32_t>::max();

std::int64_t value_at(const Tensor& ids, std::int64_t i) {
  return ids.slice(i, i + 1).to(kCpu).to(DType::kI64).to_vector<std::int64_t>()[0];
}

void check_ids(std::string_view op, std::string_view what, const Tensor& ids, std::int64_t limit) {
  check(ids.defined() && ids.rank() == 1 && (ids.dtype() == DType::kI64 || ids.dtype() == DType::kI32), "[",
        op, "] ", what, " must be i32 or i64 [edges]");
  const std::int64_t at = kernels::first_out_of_range.on(ids.device())(ids, limit);
  if (at >= 0)
    fail("[", op, "] ", what, " of edge ", at, " is ", value_at(ids, at), ", outside [0, ", limit, ")");
}

void check_sizes(std::string_view op, std::int64_t rows, std::int64_t cols, const CooOptions& options) {
  check(rows >= 0 && rows <= kMaxNodes && cols >= 0 && cols <= kMaxNodes, "[", op,
        "] rows and cols must be in [0, 2^31 - 1], got ", rows, " x ", cols);
  check(rows == cols || (!options.symmetrize && options.self_loops == SelfLoops::kKeep), "[", op,
        "] only a square matrix can be symmetrised or given self loops, got ", rows, " x ", cols);
}

}  // namespace

CooResult coo_to_csr(const Tensor& row, const Tensor& col, std::int64_t rows, std::int64_t cols,
                     const CooOptions& options) {
  check_sizes("coo_to_csr", rows, cols, options);
  check_ids("coo_to_csr", "row", row, rows);
  check_alike("coo_to_csr", "row", row, "col", col);
  check_shape("coo_to_csr", "col", col, row.shape());
  check_ids("coo_to_csr", "column", col, cols);
  kernels::SortedEdges sorted = kernels::coo_to_csr.on(row.device())(row, col, rows, cols, options);
  return {Adjacency::trusted(std::move(sorted.csr)), sorted.edge_ids};
}

Tensor edge_rows(const Adjacency& adj) {
  check(adj.rows() <= kMaxNodes, "[edge_rows] at most 2^31 - 1 rows, got ", adj.rows());
  const Tensor rows = Tensor::empty({adj.num_edges()}, DType::kI32, adj.device());
  if (rows.numel() > 0) kernels::edge_rows.on(rows.device())(adj.csr(), rows);
  return rows;
}

EdgeList csr_to_coo(const Adjacency& adj) {
  return {edge_rows(adj), adj.csr().col};
}

namespace {

// Cached on a graph. The pattern is undefined where it is symmetric: a graph that holds itself is never
// freed.
struct TransposedPattern {
  Adjacency adj;
  mutable bool is_read = true;  // set_transposed_pattern()
};
struct TransposedEdgeIds {
  Tensor edge_ids;
};

// The columns of a graph are in range already: they are not checked again, which would wait for the device.
CooResult sort_by_column(const Adjacency& adj, bool edge_ids) {
  check_sizes("transpose", adj.cols(), adj.rows(), {});
  kernels::SortedEdges sorted = kernels::coo_to_csr.on(adj.device())(
      adj.csr().col, edge_rows(adj), adj.cols(), adj.rows(), {.edge_ids = edge_ids});
  return {Adjacency::trusted(std::move(sorted.csr)), sorted.edge_ids};
}

// For a symmetric pattern the edges of A^T are the reverse edges of A, which needs no sort.
bool is_symmetric(const Adjacency& adj, const Tensor& edge_ids) {
  if (adj.rows() != adj.cols()) return false;
  if (adj.num_edges() == 0) return true;
  if (assumes_no_locality(adj)) return false;  // used once: a sort costs less than the wait for the answer
  const Device device = adj.device();
  return kernels::first_unsorted_row.on(device)(adj.csr()) < 0 &&
         kernels::reverse_edges.on(device)(adj.csr(), edge_ids);
}

}  // namespace

namespace {

Adjacency checked_csr(const Tensor& row_ptr, const Tensor& col, std::int64_t rows, std::int64_t cols,
                      CsrScan& scan) {
  check(row_ptr.defined() && row_ptr.dtype() == DType::kI64 && row_ptr.shape() == Shape{rows + 1},
        "[sort_csr] row_ptr must be i64 [", rows + 1, "]");
  check(col.defined() && col.device() == row_ptr.device(), "[sort_csr] col must be on ", row_ptr.device(),
        " as row_ptr is");
  if (col.dtype() != DType::kI32) check_ids("sort_csr", "column", col, cols);  // before it loses bits
  const Csr csr{rows, cols, row_ptr, col.to(DType::kI32)};
  scan = kernels::scan_csr.on(col.device())(csr);
  if (const std::int64_t i = scan.bad_row_ptr; i >= 0)
    fail("[sort_csr] row_ptr must rise from 0 to the number of edges, ", col.numel(), ", but row_ptr[", i,
         "] is ", value_at(row_ptr, i));
  if (const std::int64_t e = scan.bad_col; e >= 0)
    fail("[sort_csr] column of edge ", e, " is ", value_at(col, e), ", outside [0, ", cols, ")");
  return Adjacency::trusted(csr);
}

}  // namespace

CooResult sort_csr(const Tensor& row_ptr, const Tensor& col, std::int64_t rows, std::int64_t cols,
                   const CooOptions& options) {
  check_sizes("sort_csr", rows, cols, options);
  CsrScan scan{};
  const Adjacency stored = checked_csr(row_ptr, col, rows, cols, scan);
  const bool unique = options.symmetrize || options.drop_duplicates;
  const bool keeps_edges = scan.sorted && !(unique && scan.repeats) &&
                           options.self_loops != SelfLoops::kDrop &&
                           (!options.symmetrize || is_symmetric(stored, {}));
  if (!keeps_edges) return coo_to_csr(edge_rows(stored), stored.csr().col, rows, cols, options);
  if (options.self_loops != SelfLoops::kAdd || rows == 0) return {stored, {}};
  const CooResult looped = add_self_loops(stored);
  return {looped.adj, options.edge_ids ? looped.edge_ids : Tensor()};
}

Adjacency transpose_pattern(const Adjacency& adj) {
  const auto& kept = adj.cached<TransposedPattern>([&] {
    if (is_symmetric(adj, {})) return TransposedPattern{};
    const Adjacency transposed = sort_by_column(adj, false).adj;
    order_transpose(adj, transposed);
    return TransposedPattern{transposed};
  });
  if (!kept.is_read) kept.is_read = true;
  return kept.adj.defined() ? kept.adj : adj;
}

namespace {

/// The pattern is kept with adj.
TransposedEdgeIds sort_transpose(const Adjacency& adj) {
  const Tensor reverse = Tensor::empty({adj.num_edges()}, DType::kI64, adj.device());
  CooResult t;
  if (is_symmetric(adj, reverse)) {
    t.edge_ids = reverse;
  } else {
    t = sort_by_column(adj, true);
    order_transpose(adj, t.adj);
  }
  adj.cached<TransposedPattern>([&] { return TransposedPattern{t.adj}; });
  return {t.edge_ids};
}

}  // namespace

Transposed transpose(const Adjacency& adj) {
  const auto& ids = adj.cached<TransposedEdgeIds>([&] { return sort_transpose(adj); });
  return {transpose_pattern(adj), ids.edge_ids};
}

Tensor transposed_values(const Adjacency& adj, const Tensor& values) {
  if (adj.has_cached<TransposedEdgeIds>()) return take(values, transpose(adj).edge_ids);
  return take(values, sort_transpose(adj).edge_ids);
}

void set_transposed_pattern(const Adjacency& adj, const Adjacency& transposed) {
  order_transpose(adj, transposed);
  adj.cached<TransposedPattern>([&] { return TransposedPattern{transposed}; }).is_read = false;
}
bool reads_transposed_pattern(const Adjacency& adj) {
  return adj.cached<TransposedPattern>([] { return TransposedPattern{}; }).is_read;
}
std::size_t num_cached_transposes(const Adjacency& adj) {
  return adj.has_cached<TransposedPattern>() + adj.has_cached<TransposedEdgeIds>();
}

namespace {

void check_square(std::string_view op, const Adjacency& adj) {
  check(adj.rows() == adj.cols(), "[", op, "] the matrix must be square, got ", adj.rows(), " x ",
        adj.cols());
}

void check_sorted(std::string_view op, const Adjacency& adj) {
  const std::int64_t unsorted =
      adj.rows() == 0 ? -1 : kernels::first_unsorted_row.on(adj.device())(adj.csr());
  check(unsorted < 0, "[", op, "] row ", unsorted, " is not sorted by column: build the graph by coo_to_csr");
}

}  // namespace

std::int64_t count_one_way_edges(const Adjacency& adj) {
  check_square("count_one_way_edges", adj);
  check_sorted("count_one_way_edges", adj);
  return adj.num_edges() == 0 ? 0 : kernels::count_one_way_edges.on(adj.device())(adj.csr());
}

CooResult add_self_loops(const Adjacency& adj) {
  check_square("add_self_loops", adj);
  return add_self_loops(adj, 0);
}

CooResult add_self_loops(const Adjacency& adj, std::int64_t first_row) {
  const std::int64_t most = adj.cols() - adj.rows();
  check(first_row >= 0 && first_row <= most, "[add_self_loops] first_row must be in [0, ", most, "], got ",
        first_row);
  check_sorted("add_self_loops", adj);
  kernels::SortedEdges looped = kernels::add_self_loops.on(adj.device())(adj.csr(), first_row);
  return {Adjacency::trusted(std::move(looped.csr)), looped.edge_ids};
}

Tensor take(const Tensor& values, const Tensor& ids, double missing) {
  check(values.defined() && (values.rank() == 1 || values.rank() == 2),
        "[take] values must be [m] or [m, n]");
  check(ids.defined() && ids.rank() == 1 && ids.dtype() == DType::kI64, "[take] ids must be i64 [n]");
  check(ids.device() == values.device(), "[take] ids must be on ", values.device(), " as values are, got ",
        ids.device());
  check_indices("take", "ids", ids, values.dim(0), -1);
  const Shape shape = values.rank() == 1 ? ids.shape() : Shape{ids.numel(), values.dim(1)};
  const Tensor out = Tensor::empty(shape, values.dtype(), values.device());
  if (out.numel() > 0) kernels::take.on(out.device())(values, ids, missing, out);
  return out;
}

}  // namespace rodeo
