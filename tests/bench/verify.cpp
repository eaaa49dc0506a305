#include "tests/bench/verify.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/storage.h"

namespace rodeo::bench {
namespace {

constexpr std::int64_t kSample = 256;

// Shared by all problems of a graph.
struct HostGraph {
  std::vector<std::int64_t> row_ptr;
  Tensor col;
  std::vector<std::int64_t> sample;  // rows
};

std::vector<std::int64_t> sample_rows(const std::vector<std::int64_t>& row_ptr) {
  const auto rows = static_cast<std::int64_t>(row_ptr.size()) - 1;
  std::set<std::int64_t> chosen{0, rows - 1};
  for (std::int64_t i = 0; i < kSample; ++i) chosen.insert(i * rows / kSample);
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < rows; ++i)
    if (row_ptr[i + 1] - row_ptr[i] > row_ptr[longest + 1] - row_ptr[longest]) longest = i;
  chosen.insert(longest);
  return {chosen.begin(), chosen.end()};
}

const HostGraph& host_graph(const Adjacency& adj) {
  return adj.cached<HostGraph>([&] {
    auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
    auto sample = sample_rows(row_ptr);
    return HostGraph{std::move(row_ptr), adj.csr().col.to(kCpu), std::move(sample)};
  });
}

struct Tolerance {
  double total, row;
};

// The error of an f32 sum grows with the row length. 16-bit tolerances are twice the rounding error of the
// result.
Tolerance tolerance_of(DType dtype, bool tf32) {
  switch (dtype) {
    case DType::kF64:
      return {1e-12, 1e-11};
    case DType::kF32:
      return tf32 ? Tolerance{5e-4, 5e-3} : Tolerance{1e-5, 1e-4};
    case DType::kF16:
      return {0x1p-10, 0x1p-10};
    default:
      return {0x1p-7, 0x1p-7};
  }
}

// While one exists, new allocations are filled with NaN.
struct Poison {
  Poison() { set_poison_memory(true); }
  ~Poison() { set_poison_memory(false); }
};

}  // namespace

Reference::Reference(const Problem& p) {
  const HostGraph& graph = host_graph(p.adj);
  const auto on_host = [](const Tensor& t) { return t.defined() ? t.to(kCpu) : Tensor(); };
  const Tensor x = on_host(p.x), weight = on_host(p.weight), b1 = on_host(p.b1);
  const auto* col = graph.col.data<std::int32_t>();
  const std::int64_t n = p.n;
  const bool edges = p.op == Op::kSddmm;  // the result has one element per edge
  dispatch_float(p.dtype, "sparse_bench", [&]<class T>(T) {
    const auto wide = [](T value) { return static_cast<double>(static_cast<Accumulator<T>>(value)); };
    const T* xs = x.data<T>();
    const T* w = weight.defined() ? weight.data<T>() : nullptr;
    for (const std::int64_t i : graph.sample) {
      const std::int64_t begin = graph.row_ptr[i], end = graph.row_ptr[i + 1];
      Row row{edges ? begin : i * n, std::vector<double>(static_cast<std::size_t>(edges ? end - begin : n))};
      const T* b = edges ? b1.data<T>() + i * n : nullptr;
      for (std::int64_t e = begin; e < end; ++e)
        for (std::int64_t j = 0; j < n; ++j) {
          const double left = b ? wide(b[j]) : w ? wide(w[e]) : 1;
          const double term = left * wide(xs[col[e] * n + j]);
          row.want[edges ? e - begin : j] += term;
          row.terms += term * term;
        }
      rows_.push_back(std::move(row));
    }
  });
}

Reference::Distance Reference::distance(const Tensor& result) const {
  constexpr double kTiny = 0x1p-28;  // below the normal range of f16, differences are absolute
  const Tensor flat = result.reshape({result.numel()});
  double all_off = 0, all_want = 0, all_terms = 0, worst = 0;
  for (const Row& row : rows_) {
    const auto count = static_cast<std::int64_t>(row.want.size());
    if (count == 0) continue;
    const auto got = flat.slice(row.begin, row.begin + count).to(kCpu).to(DType::kF64).to_vector<double>();
    double off = 0, want = 0;
    for (std::size_t j = 0; j < got.size(); ++j) {
      off += (got[j] - row.want[j]) * (got[j] - row.want[j]);
      want += row.want[j] * row.want[j];
    }
    const double of_row = std::sqrt(off / (std::max(want, row.terms) + kTiny * static_cast<double>(count)));
    if (!(of_row <= worst)) worst = of_row;  // true for NaN too
    all_off += off, all_want += want, all_terms += row.terms;
  }
  return {std::sqrt(all_off / (std::max(all_want, all_terms) + kTiny)), worst};
}

double verify(const Kernel& kernel, const Problem& p, const Run& run, const Reference& reference) {
  const Poison poison;
  const Tensor result = run();
  const Reference::Distance off = reference.distance(result);
  // cuSPARSE may round partial sums to 16 bits: less exact, but not wrong.
  const double slack = kernel.peer ? 8 : 1;
  const Tolerance allowed = tolerance_of(result.dtype(), kernel.tf32);
  if (!(off.total <= slack * allowed.total && off.row <= slack * allowed.row))  // also fails for NaN
    throw WrongResult(str("wrong result: ", name(p.op), " ", kernel.name, " ", p.dtype, ", n = ", p.n,
                          ": off by ", off.total, " of the norm, at most ", slack * allowed.total,
                          "; in one row by ", off.row, ", at most ", slack * allowed.row));
  return off.total;
}

}  // namespace rodeo::bench
