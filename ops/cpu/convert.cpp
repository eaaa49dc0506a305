#include <atomic>
#include <cstring>
#include <vector>

#include "ops/cpu/loops.h"
#include "ops/kernels.h"

namespace rodeo::kernels::cpu {
namespace {

template <class F>
auto dispatch_index(DType dtype, F&& f) {
  return dtype == DType::kI64 ? f(std::int64_t{}) : f(std::int32_t{});
}

struct Edge {
  std::int32_t row, col;
  std::int64_t id;  // position in the input; -1 for an added self loop
};

// Stable counting sort by one end of the edges.
template <class Key>
void sort_edges(std::vector<Edge>& edges, std::vector<Edge>& scratch, std::int64_t keys, Key key) {
  std::vector<std::int64_t> place(static_cast<std::size_t>(keys) + 1);
  for (const Edge& e : edges) ++place[key(e) + 1];
  for (std::int64_t k = 0; k < keys; ++k) place[k + 1] += place[k];
  scratch.resize(edges.size());
  for (const Edge& e : edges) scratch[place[key(e)]++] = e;
  edges.swap(scratch);
}

}  // namespace

std::int64_t first_out_of_range(const Tensor& ids, std::int64_t limit) {
  return dispatch_index(ids.dtype(), [&]<class I>(I) -> std::int64_t {
    const I* p = ids.data<I>();
    const std::int64_t n = ids.numel();
    std::int64_t first = n;
#pragma omp parallel for reduction(min : first) if (n > kSerial)
    for (std::int64_t i = 0; i < n; ++i)
      if (p[i] < 0 || p[i] >= limit) first = std::min(first, i);
    return first == n ? -1 : first;
  });
}

SortedEdges coo_to_csr(const Tensor& row, const Tensor& col, std::int64_t rows, std::int64_t cols,
                       const CooOptions& options) {
  std::vector<Edge> edges, scratch;
  const std::int64_t count = row.numel();
  edges.reserve(static_cast<std::size_t>(count) * (options.symmetrize ? 2 : 1) +
                (options.self_loops == SelfLoops::kAdd ? static_cast<std::size_t>(rows) : 0));
  dispatch_index(row.dtype(), [&]<class I>(I) {
    const I *r = row.data<I>(), *c = col.data<I>();
    const auto append = [&](const I* from, const I* to) {
      for (std::int64_t e = 0; e < count; ++e)
        if (options.self_loops != SelfLoops::kDrop || from[e] != to[e])
          edges.push_back({static_cast<std::int32_t>(from[e]), static_cast<std::int32_t>(to[e]), e});
    };
    append(r, c);
    if (options.symmetrize) append(c, r);
  });
  if (options.self_loops == SelfLoops::kAdd)  // last, so that one that is there already comes before it
    for (std::int64_t i = 0; i < rows; ++i)
      edges.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(i), -1});

  sort_edges(edges, scratch, cols, [](const Edge& e) { return e.col; });
  sort_edges(edges, scratch, rows, [](const Edge& e) { return e.row; });
  scratch = {};

  const bool unique = options.drop_duplicates || options.symmetrize;
  std::size_t kept = 0;
  for (const Edge& e : edges) {
    const bool repeats = kept > 0 && edges[kept - 1].row == e.row && edges[kept - 1].col == e.col;
    if (!repeats || (e.id >= 0 && !unique)) edges[kept++] = e;
  }
  edges.resize(kept);

  const auto nnz = static_cast<std::int64_t>(kept);
  SortedEdges out{{rows, cols, Tensor::zeros({rows + 1}, DType::kI64), Tensor::empty({nnz}, DType::kI32)},
                  {}};
  auto* row_ptr = out.csr.row_ptr.data<std::int64_t>();
  auto* columns = out.csr.col.data<std::int32_t>();
  if (options.edge_ids) out.edge_ids = Tensor::empty({nnz}, DType::kI64);
  auto* ids = options.edge_ids ? out.edge_ids.data<std::int64_t>() : nullptr;
  for (std::int64_t e = 0; e < nnz; ++e) {
    ++row_ptr[edges[e].row + 1];
    columns[e] = edges[e].col;
    if (ids) ids[e] = edges[e].id;
  }
  for (std::int64_t i = 0; i < rows; ++i) row_ptr[i + 1] += row_ptr[i];
  return out;
}

void edge_rows(const Csr& a, const Tensor& rows) {
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
  auto* out = rows.data<std::int32_t>();
#pragma omp parallel for schedule(dynamic, 1024)
  for (std::int64_t i = 0; i < a.rows; ++i)
    std::fill(out + row_ptr[i], out + row_ptr[i + 1], static_cast<std::int32_t>(i));
}

std::int64_t first_unsorted_row(const Csr& a) {
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
  const auto* col = a.col.data<std::int32_t>();
  std::int64_t first = a.rows;
#pragma omp parallel for reduction(min : first) schedule(dynamic, 1024)
  for (std::int64_t i = 0; i < a.rows; ++i)
    if (!std::is_sorted(col + row_ptr[i], col + row_ptr[i + 1])) first = std::min(first, i);
  return first == a.rows ? -1 : first;
}

SortedEdges add_self_loops(const Csr& a) {
  const auto* row_ptr = a.row_ptr.data<std::int64_t>();
  const auto* col = a.col.data<std::int32_t>();
  const Tensor looped_ptr = Tensor::empty({a.rows + 1}, DType::kI64);
  auto* out_ptr = looped_ptr.data<std::int64_t>();
  out_ptr[0] = 0;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    const bool present =
        std::binary_search(col + row_ptr[i], col + row_ptr[i + 1], static_cast<std::int32_t>(i));
    out_ptr[i + 1] = out_ptr[i] + row_ptr[i + 1] - row_ptr[i] + (present ? 0 : 1);
  }
  const Tensor looped_col = Tensor::empty({out_ptr[a.rows]}, DType::kI32);
  const Tensor edge_ids = Tensor::empty({out_ptr[a.rows]}, DType::kI64);
  auto* out_col = looped_col.data<std::int32_t>();
  auto* ids = edge_ids.data<std::int64_t>();
#pragma omp parallel for schedule(dynamic, 1024)
  for (std::int64_t i = 0; i < a.rows; ++i) {
    const bool insert = out_ptr[i + 1] - out_ptr[i] > row_ptr[i + 1] - row_ptr[i];
    std::int64_t at = out_ptr[i];
    const auto put = [&](std::int32_t column, std::int64_t id) { out_col[at] = column, ids[at++] = id; };
    bool placed = !insert;
    for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e) {
      if (!placed && col[e] > i) put(static_cast<std::int32_t>(i), -1), placed = true;
      put(col[e], e);
    }
    if (!placed) put(static_cast<std::int32_t>(i), -1);
  }
  return {{a.rows, a.cols, looped_ptr, looped_col}, edge_ids};
}

void take(const Tensor& values, const Tensor& ids, double missing, const Tensor& out) {
  dispatch_all(values.dtype(), [&]<class T>(T) {
    const T *v = values.data<T>(), fallback = *Tensor::full({}, missing, values.dtype()).data<T>();
    const auto* id = ids.data<std::int64_t>();
    T* o = out.data<T>();
    const std::int64_t n = out.numel() / ids.numel();
    for_each_row(ids.numel(), n, [=](std::int64_t i) {
      for (std::int64_t j = 0; j < n; ++j) o[i * n + j] = id[i] < 0 ? fallback : v[id[i] * n + j];
    });
  });
}

bool same_values(const Tensor& a, const Tensor& b) {
  return a.numel() == b.numel() && std::memcmp(a.raw(), b.raw(), static_cast<std::size_t>(a.nbytes())) == 0;
}

}  // namespace rodeo::kernels::cpu
