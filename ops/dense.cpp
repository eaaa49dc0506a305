#include "ops/dense.h"

#include <cmath>
#include <optional>

#include "core/elementwise.h"
#include "ops/checks.h"
#include "ops/kernels/dense.h"

namespace rodeo {

namespace {

/// With one 16-bit factor the other one may be f32; it is then rounded to the 16-bit type.
void check_factors(std::string_view op, const Tensor& a, const Tensor& b) {
  check_matrix(op, "a", a);
  check_matrix(op, "b", b);
  if (size_of(b.dtype()) == 2)
    check_beside(op, "b", b, "a", a);
  else
    check_beside(op, "a", a, "b", b);
}

/// x in the dtype in which it is multiplied with `other`. On CUDA a rounded copy has rows padded to 16 bytes,
/// which 16-bit products need; its shape then includes the padding.
Tensor rounded_like(const Tensor& other, const Tensor& x) {
  if (size_of(other.dtype()) != 2 || x.dtype() == other.dtype()) return x;
  constexpr std::int64_t kVector = 8;
  const std::int64_t columns = (x.dim(1) + kVector - 1) / kVector * kVector;
  if (!x.device().is_cuda() || columns == x.dim(1)) return x.to(other.dtype());
  const Tensor out = Tensor::empty({x.dim(0), columns}, other.dtype(), x.device());
  if (out.numel() > 0) kernels::cast_padded.on(out.device())(x, out);
  return out;
}

kernels::MatmulSizes sizes_of(std::string_view op, const Tensor& a, const Tensor& b, bool ta, bool tb) {
  const std::int64_t m = a.dim(ta ? 1 : 0), k = a.dim(ta ? 0 : 1), n = b.dim(tb ? 0 : 1);
  check(b.dim(tb ? 1 : 0) == k, "[", op, "] inner sizes must be equal, got ", a.shape(), ta ? "^T" : "",
        " x ", b.shape(), tb ? "^T" : "");
  return {m, n, k};
}

/// [m, columns]. Both factors have one dtype; `dtype` is the same, or f32 for 16-bit factors.
Tensor product(const Tensor& a, const Tensor& b, bool ta, bool tb, const kernels::MatmulSizes& sizes,
               DType dtype, std::int64_t columns) {
  const Tensor c = Tensor::empty({sizes.m, columns}, dtype, a.device());
  zero_columns(c, sizes.n);
  if (sizes.m > 0 && sizes.n > 0) kernels::matmul.on(c.device())(a, b, ta, tb, sizes, c);
  return c;
}

/// A product and its factors, in the dtype in which they were multiplied.
struct Product {
  Tensor a, b, c;
  kernels::MatmulSizes sizes;
};

/// columns: of the result; default n.
Product multiply(std::string_view op, const Tensor& a, const Tensor& b, bool ta, bool tb,
                 std::optional<std::int64_t> columns) {
  check_factors(op, a, b);
  Product p{{}, {}, {}, sizes_of(op, a, b, ta, tb)};
  const std::int64_t n = p.sizes.n;
  check(columns.value_or(n) >= n, "[", op, "] columns must be at least ", n, ", got ", columns.value_or(n));
  p.a = rounded_like(b, a);
  p.b = rounded_like(a, b);
  p.c = product(p.a, p.b, ta, tb, p.sizes, p.a.dtype(), columns.value_or(n));
  return p;
}

Variable recorded(const char* op, const Variable& a, const Variable& b, bool ta, bool tb,
                  std::optional<std::int64_t> columns) {
  const Product p = multiply(op, a.value(), b.value(), ta, tb, columns);
  const auto [m, n, k] = p.sizes;
  // The gradient of each factor needs the other one.
  SavedTensor kept_a, kept_b;
  if (b.requires_grad()) kept_a = p.a.dtype() == a.dtype() ? a.saved() : SavedTensor(p.a);
  if (a.requires_grad()) kept_b = p.b.dtype() == b.dtype() ? b.saved() : SavedTensor(p.b);
  return record(op, p.c, {a, b},
                [=, m = m, n = n, k = k, a_dtype = a.dtype(), b_dtype = b.dtype()](const Tensor& dc) {
                  Tensor da, db;
                  if (kept_b.defined()) {  // da = dc op(b)^T, or its transpose op(b) dc^T
                    const Tensor& bv = kept_b.get();
                    da = ta ? product(bv, dc, tb, true, {k, m, n}, a_dtype, m)
                            : product(dc, bv, false, !tb, {m, k, n}, a_dtype, k);
                  }
                  if (kept_a.defined()) {  // db = op(a)^T dc, or its transpose dc^T op(a)
                    const Tensor& av = kept_a.get();
                    db = tb ? product(dc, av, true, ta, {n, k, m}, b_dtype, k)
                            : product(av, dc, !ta, false, {k, n, m}, b_dtype, n);
                  }
                  return std::vector{da, db};
                });
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, Transpose ta, Transpose tb) {
  return multiply("matmul", a, b, ta == Transpose::kYes, tb == Transpose::kYes, {}).c;
}

Variable matmul(const Variable& a, const Variable& b, Transpose ta, Transpose tb) {
  return recorded("matmul", a, b, ta == Transpose::kYes, tb == Transpose::kYes, {});
}

Tensor matmul_padded(const Tensor& a, const Tensor& b, std::int64_t columns) {
  return multiply("matmul_padded", a, b, false, false, columns).c;
}

Variable matmul_padded(const Variable& a, const Variable& b, std::int64_t columns) {
  return recorded("matmul_padded", a, b, false, false, columns);
}

std::int64_t padded_columns(std::int64_t n, DType dtype, Device device) {
  if (!device.is_cuda() || n <= 1) return n;  // one column is a vector
  // Whole vectors of 16 bytes, and whole sectors of 32 where there is more than one vector.
  const auto element = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t unit = n * element % 16 == 0 || n * element < 16 ? 16 : 32;
  return (n * element + unit - 1) / unit * unit / element;
}

Tensor add(const Tensor& a, const Tensor& b) {
  return add_tensors(a, b);
}

Variable add(const Variable& a, const Variable& b) {
  return record("add", add(a.value(), b.value()), {a, b}, [](const Tensor& dy) {
    return std::vector{dy, dy};
  });
}

Variable cast(const Variable& x, DType dtype) {
  check(x.defined() && is_float(x.dtype()) && is_float(dtype),
        "[cast] x must be floating point, and so must ", dtype, " be");
  const DType before = x.dtype();
  return record("cast", x.value().to(dtype), {x},
                [before](const Tensor& dy) { return std::vector{dy.to(before)}; });
}

Variable reshape(const Variable& x, const Shape& shape) {
  const Shape before = x.shape();
  return record("reshape", x.value().reshape(shape), {x},
                [before](const Tensor& dy) { return std::vector{dy.reshape(before)}; });
}

namespace {

/// In the accumulator dtype.
Tensor column_sums(const Tensor& x) {
  const Tensor out = Tensor::empty({x.dim(1)}, sum_dtype(x.dtype()), x.device());
  if (out.numel() > 0) kernels::sum_rows.on(out.device())(x, out);
  return out;
}

}  // namespace

Tensor add_bias(const Tensor& x, const Tensor& b) {
  check_matrix("add_bias", "x", x);
  check_beside("add_bias", "x", x, "b", b);
  check_shape("add_bias", "b", b, {x.dim(1)});
  const Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (y.numel() > 0) kernels::add_bias.on(y.device())(x, b.to(sum_dtype(x.dtype())), y);
  return y;
}

Variable add_bias(const Variable& x, const Variable& b) {
  return record("add_bias", add_bias(x.value(), b.value()), {x, b}, [=](const Tensor& dy) {
    return std::vector{dy, b.requires_grad() ? column_sums(dy).to(b.dtype()) : Tensor()};
  });
}

Tensor sum_rows(const Tensor& x) {
  check_matrix("sum_rows", "x", x);
  return column_sums(x).to(x.dtype());
}

Tensor relu(const Tensor& x) {
  check(x.defined() && is_float(x.dtype()), "[relu] x must be floating point");
  const Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (y.numel() > 0) kernels::relu.on(y.device())(x, y);
  return y;
}

Variable relu(const Variable& x) {
  const Tensor y = relu(x.value());
  // x > 0 exactly where y > 0, so backward reads y and x can be freed.
  return record("relu", y, {x}, [y](const Tensor& dy) {
    const Tensor dx = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
    if (dx.numel() > 0) kernels::relu_backward.on(dx.device())(y, dy, dx);
    return std::vector{dx};
  });
}

Tensor leaky_relu(const Tensor& x, double slope) {
  check(x.defined() && is_float(x.dtype()), "[leaky_relu] x must be floating point");
  check(slope >= 0 && std::isfinite(slope), "[leaky_relu] slope must be finite and at least 0, got ", slope);
  const Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (y.numel() > 0) kernels::leaky_relu.on(y.device())(x, slope, y);
  return y;
}

Variable leaky_relu(const Variable& x, double slope) {
  const Tensor y = leaky_relu(x.value(), slope);
  // slope >= 0, so x > 0 exactly where y > 0.
  return record("leaky_relu", y, {x}, [=](const Tensor& dy) {
    const Tensor dx = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
    if (dx.numel() > 0) kernels::leaky_relu_backward.on(dx.device())(y, dy, slope, dx);
    return std::vector{dx};
  });
}

Tensor elu(const Tensor& x) {
  check(x.defined() && is_float(x.dtype()), "[elu] x must be floating point");
  const Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (y.numel() > 0) kernels::elu.on(y.device())(x, y);
  return y;
}

Variable elu(const Variable& x) {
  const Tensor y = elu(x.value());
  return record("elu", y, {x}, [y](const Tensor& dy) {
    const Tensor dx = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
    if (dx.numel() > 0) kernels::elu_backward.on(dx.device())(y, dy, dx);
    return std::vector{dx};
  });
}

Tensor dropout(const Tensor& x, double p, RandomKey key) {
  check(x.defined() && is_float(x.dtype()), "[dropout] x must be floating point");
  check(p >= 0 && p < 1, "[dropout] p must be in [0, 1), got ", p);
  if (p == 0) return x;
  const Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (y.numel() > 0) kernels::dropout.on(y.device())(x, p, key, y);
  return y;
}

Variable dropout(const Variable& x, double p, RandomKey key) {
  return record("dropout", dropout(x.value(), p, key), {x},
                [=](const Tensor& dy) { return std::vector{dropout(dy, p, key)}; });
}

Tensor uniform(const Shape& shape, double lo, double hi, RandomKey key, DType dtype, Device device) {
  check(dtype == DType::kF32 || dtype == DType::kF64, "[uniform] dtype must be f32 or f64, got ", dtype);
  check(lo <= hi, "[uniform] lo must not exceed hi, got [", lo, ", ", hi, ")");
  const Tensor out = Tensor::empty(shape, dtype, device);
  if (out.numel() > 0) kernels::uniform.on(device)(out, static_cast<float>(lo), static_cast<float>(hi), key);
  return out;
}

Tensor glorot_uniform(std::int64_t fan_in, std::int64_t fan_out, RandomKey key, DType dtype, Device device) {
  const double bound = std::sqrt(6.0 / static_cast<double>(fan_in + fan_out));
  return uniform({fan_in, fan_out}, -bound, bound, key, dtype, device);
}

}  // namespace rodeo
