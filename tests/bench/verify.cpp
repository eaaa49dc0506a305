#include "tests/bench/verify.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/storage.h"

namespace rodeo::bench {
namespace {

constexpr std::int64_t kSample = 256;

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

struct Tolerance {
  double total, row;
};

// Sums of f32 lose more in long rows; 16-bit results are off by their own rounding, at most half of this.
Tolerance tolerance_of(DType dtype, bool tf32) {
  switch (dtype) {
    case DType::kF64:
      return {1e-14, 1e-13};
    case DType::kF32:
      return tf32 ? Tolerance{5e-4, 5e-3} : Tolerance{1e-5, 1e-4};
    case DType::kF16:
      return {0x1p-10, 0x1p-10};
    default:
      return {0x1p-7, 0x1p-7};
  }
}

// While it lives, new memory is NaN.
struct Poison {
  Poison() { set_poison_memory(true); }
  ~Poison() { set_poison_memory(false); }
};

}  // namespace

Reference::Reference(const Problem& p) {
  const auto row_ptr = p.adj.csr().row_ptr.to_vector<std::int64_t>();
  const Tensor col = p.adj.csr().col.to(kCpu), x = p.x.to(kCpu);
  const Tensor weight = p.weight.defined() ? p.weight.to(kCpu) : Tensor();
  const Tensor b1 = p.b1.defined() ? p.b1.to(kCpu) : Tensor();
  const std::int64_t n = p.n;
  for (const std::int64_t i : sample_rows(row_ptr))
    rows_.push_back({p.op == Op::kSddmm ? row_ptr[i] : i * n,
                     std::vector<double>(p.op == Op::kSddmm ? row_ptr[i + 1] - row_ptr[i] : n)});
  dispatch_float(p.dtype, "sparse_bench", [&]<class T>(T) {
    const auto* c = col.data<std::int32_t>();
    const T* xs = x.data<T>();
    const T* w = weight.defined() ? weight.data<T>() : nullptr;
    const T* b = b1.defined() ? b1.data<T>() : nullptr;
    const auto wide = [](T value) { return static_cast<double>(static_cast<Accumulator<T>>(value)); };
    const auto sampled = sample_rows(row_ptr);
    for (std::size_t r = 0; r < sampled.size(); ++r) {
      Row& row = rows_[r];
      const std::int64_t i = sampled[r], begin = row_ptr[i];
      for (std::int64_t e = begin; e < row_ptr[i + 1]; ++e)
        for (std::int64_t j = 0; j < n; ++j) {
          const double left = b ? wide(b[i * n + j]) : w ? wide(w[e]) : 1;
          const double term = left * wide(xs[c[e] * n + j]);
          row.want[p.op == Op::kSddmm ? e - begin : j] += term;
          row.terms += term * term;
        }
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
    if (!(of_row <= worst)) worst = of_row;  // NaN stays
    all_off += off, all_want += want, all_terms += row.terms;
  }
  return {std::sqrt(all_off / (std::max(all_want, all_terms) + kTiny)), worst};
}

double verify(const Kernel& kernel, const Problem& p, const Run& run, const Reference& reference) {
  const Poison poison;
  const Tensor result = run();
  const Reference::Distance off = reference.distance(result);
  // A peer that rounds partial sums to 16 bits is less exact, not wrong.
  const double slack = kernel.peer ? 8 : 1;
  const Tolerance allowed = tolerance_of(result.dtype(), kernel.tf32);
  if (!(off.total <= slack * allowed.total && off.row <= slack * allowed.row))  // NaN is wrong
    throw WrongResult(str("wrong result: ", name(p.op), " ", kernel.name, " ", p.dtype, ", n = ", p.n,
                          ": off by ", off.total, " of the norm, at most ", slack * allowed.total,
                          "; in one row by ", off.row, ", at most ", slack * allowed.row));
  return off.total;
}

}  // namespace rodeo::bench
