#include "ops/pairs.h"

#include <limits>

#include "ops/checks.h"
#include "ops/index_checks.h"
#include "ops/kernels/pairs.h"

namespace rodeo {
namespace {

void check_pairs(std::string_view op, const Tensor& a, const Tensor& b, const Tensor& src,
                 const Tensor& dst) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  check_matrix(op, "a", a);
  check_matrix(op, "b", b);
  check_alike(op, "a", a, "b", b);
  check(a.dim(1) == b.dim(1), "[", op, "] a and b must have the same number of columns, got ", a.shape(),
        " and ", b.shape());
  for (const auto& [name, index] : {std::pair{"src", src}, {"dst", dst}}) {
    check(index.defined() && index.rank() == 1 && index.dtype() == DType::kI64, "[", op, "] ", name,
          " must be i64 [k]");
    check(index.device() == a.device(), "[", op, "] ", name, " must be on ", a.device(), " as a is, got ",
          index.device());
  }
  check_shape(op, "dst", dst, src.shape());
  check(a.dim(0) <= kMost && b.dim(0) <= kMost && src.numel() <= kMost, "[", op,
        "] a, b and src must have at most 2^31 - 1 rows, got ", a.shape(), ", ", b.shape(), " and ",
        src.shape());
  check_indices(op, "src", src, a.dim(0));
  check_indices(op, "dst", dst, b.dim(0));
}

/// dx[r, :] = sum over i with index[i] = r of dy[i] other[at[i], :].   [rows, n]
Tensor sum_by_index(const Tensor& dy, const Tensor& other, const Tensor& at, const Tensor& index,
                    std::int64_t rows) {
  const Device device = dy.device();
  const Tensor dx = Tensor::empty({rows, other.dim(1)}, other.dtype(), device);
  if (dx.numel() == 0) return dx;
  if (index.numel() == 0) {
    dx.fill(0);
    return dx;
  }
  const Tensor order = Tensor::empty(index.shape(), DType::kI32, device);
  const Tensor row_ptr = Tensor::empty({rows + 1}, DType::kI64, device);
  kernels::group_by_index.on(device)(index, order, row_ptr);
  kernels::pair_backward.on(device)(dy, other, at, order, row_ptr, dx);
  return dx;
}

Variable record_pairs(const char* op, Tensor y, const Variable& a, const Variable& b, const Tensor& src,
                      const Tensor& dst) {
  return record(op, std::move(y), {a, b},
                [a = a.saved(), b = b.saved(), src, dst, with_a = a.requires_grad(),
                 with_b = b.requires_grad()](const Tensor& dy) {
                  std::vector<Tensor> gradients(2);
                  if (with_a) gradients[0] = sum_by_index(dy, b.get(), dst, src, a.get().dim(0));
                  if (with_b) gradients[1] = sum_by_index(dy, a.get(), src, dst, b.get().dim(0));
                  return gradients;
                });
}

}  // namespace

Tensor pair_dot(const Tensor& a, const Tensor& b, const Tensor& src, const Tensor& dst) {
  check_pairs("pair_dot", a, b, src, dst);
  const Tensor s = Tensor::empty(src.shape(), a.dtype(), a.device());
  if (s.numel() == 0) return s;
  if (a.dim(1) == 0)
    s.fill(0);
  else
    kernels::pair_dot.on(a.device())(a, b, src, dst, s);
  return s;
}

Variable pair_dot(const Variable& a, const Variable& b, const Tensor& src, const Tensor& dst) {
  return record_pairs("pair_dot", pair_dot(a.value(), b.value(), src, dst), a, b, src, dst);
}

Tensor pair_mul(const Tensor& a, const Tensor& b, const Tensor& src, const Tensor& dst) {
  check_pairs("pair_mul", a, b, src, dst);
  const Tensor y = Tensor::empty({src.numel(), a.dim(1)}, a.dtype(), a.device());
  if (y.numel() > 0) kernels::pair_mul.on(a.device())(a, b, src, dst, y);
  return y;
}

Variable pair_mul(const Variable& a, const Variable& b, const Tensor& src, const Tensor& dst) {
  return record_pairs("pair_mul", pair_mul(a.value(), b.value(), src, dst), a, b, src, dst);
}

}  // namespace rodeo
