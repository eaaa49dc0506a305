#include <cblas.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <type_traits>

#include "core/host/address_space.h"
#include "core/host/cgroup.h"
#include "ops/cpu/gemm.h"
#include "ops/cpu/loops.h"
#include "ops/kernels/dense.h"

namespace rodeo::kernels::cpu {
namespace {

/// OpenBLAS maps a buffer for each thread that multiplies, and tries without end where it cannot. Commands
/// begin with one of its threads where the address space has a limit (core/host/least_limits.h).
void check_buffers() {
  static std::atomic<int> checked = 0;
  const int threads = omp_get_max_threads();
  if (threads <= checked) return;
  constexpr int kMiB = 129;  // BUFFER_SIZE on x86-64, and pages around it
  if (!can_map(threads - checked, std::size_t{kMiB} << 20))
    throw OutOfMemory(str("[matmul] OpenBLAS needs ", kMiB,
                          " MiB of address space for each thread, of which there may be ", threads,
                          ": raise ulimit -v, or use fewer threads"));
  checked = threads;
  if (address_space_limit() != RLIM_INFINITY) openblas_set_num_threads(threads);
}

template <class T>
void checked_gemm(const Gemm<T>& g, bool ta, bool tb) {
  for (const std::int64_t size : {g.sizes.m, g.sizes.n, g.sizes.k, g.lda, g.ldb, g.ldc})
    check(size <= std::numeric_limits<blasint>::max(), "[matmul] OpenBLAS takes sizes up to ",
          std::numeric_limits<blasint>::max(), ", got ", size);
  check_buffers();
  const auto run = [&](auto blas) {
    blas(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans,
         static_cast<blasint>(g.sizes.m), static_cast<blasint>(g.sizes.n), static_cast<blasint>(g.sizes.k), 1,
         g.a, static_cast<blasint>(g.lda), g.b, static_cast<blasint>(g.ldb), g.beta, g.c,
         static_cast<blasint>(g.ldc));
  };
  if constexpr (std::is_same_v<T, float>)
    run(cblas_sgemm);
  else
    run(cblas_dgemm);
}

using Floats = std::unique_ptr<float[]>;

Floats floats(std::int64_t count) {
  return std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(count));
}

/// Rows [begin, end) of x.
template <class T>
void widen(const Tensor& x, std::int64_t begin, std::int64_t end, float* out) {
  const T* from = x.data<T>() + begin * x.dim(1);
  for_each_element((end - begin) * x.dim(1), [=](std::int64_t i) { out[i] = load(from[i]); });
}

/// 16-bit floats are converted to f32 and multiplied, a block of rows at a time to bound the memory.
template <class T>
void multiply(const Tensor& a, const Tensor& b, bool ta, bool tb, const MatmulSizes& s, const Tensor& c) {
  constexpr std::int64_t kRows = 4096;
  const std::int64_t lda = a.dim(1), ldb = b.dim(1), ldc = c.dim(1);
  const bool sums_rows = ta && !tb;  // op(A) op(B) is a sum over the rows of both
  const std::int64_t a_step = ta && tb ? a.dim(0) : std::min(a.dim(0), kRows),
                     b_step = sums_rows ? a_step : b.dim(0);
  const std::int64_t c_rows = ta ? s.m : a_step;
  const Floats wide_a = floats(a_step * lda), wide_b = floats(b_step * ldb), sum = floats(c_rows * s.n);
  if (!sums_rows) widen<T>(b, 0, b_step, wide_b.get());
  const auto write = [&](std::int64_t first, std::int64_t rows) {
    const float* from = sum.get();
    const auto to = [&]<class Out>(Out* out) {
      for_each_row(rows, s.n, [=, n = s.n](std::int64_t i) {
        for (std::int64_t j = 0; j < n; ++j) out[(first + i) * ldc + j] = Out(from[i * n + j]);
      });
    };
    c.dtype() == DType::kF32 ? to(c.data<float>()) : to(c.data<T>());
  };
  for (std::int64_t begin = 0; begin < a.dim(0); begin += a_step) {
    const std::int64_t end = std::min(begin + a_step, a.dim(0)), rows = end - begin;
    widen<T>(a, begin, end, wide_a.get());
    if (sums_rows) widen<T>(b, begin, end, wide_b.get());
    gemm(ta, tb,
         Gemm<float>{.sizes = {ta ? s.m : rows, s.n, ta ? rows : s.k},
                     .a = wide_a.get(),
                     .lda = lda,
                     .b = wide_b.get(),
                     .ldb = ldb,
                     .beta = ta && begin > 0 ? 1.f : 0.f,
                     .c = sum.get(),
                     .ldc = s.n});
    if (!ta) write(begin, rows);
  }
  if (ta) write(0, s.m);
}

}  // namespace

void gemm(bool ta, bool tb, const Gemm<float>& g) {
  checked_gemm(g, ta, tb);
}

void gemm(bool ta, bool tb, const Gemm<double>& g) {
  checked_gemm(g, ta, tb);
}

void matmul(const Tensor& a, const Tensor& b, bool ta, bool tb, const MatmulSizes& sizes, const Tensor& c) {
  if (sizes.k == 0) return c.fill(0);
  if (a.dtype() == DType::kBF16) return multiply<BFloat16>(a, b, ta, tb, sizes, c);
  if (a.dtype() == DType::kF16) return multiply<Float16>(a, b, ta, tb, sizes, c);
  const auto run = [&]<class T>(T) {
    gemm(ta, tb, Gemm<T>{sizes, a.data<T>(), a.dim(1), b.data<T>(), b.dim(1), T{0}, c.data<T>(), c.dim(1)});
  };
  a.dtype() == DType::kF32 ? run(float{}) : run(double{});
}

}  // namespace rodeo::kernels::cpu
