#include "ops/dense.h"

#include <cmath>

#include "core/elementwise.h"
#include "core/profile.h"
#include "ops/checks.h"
#include "ops/kernels.h"

namespace rodeo {

namespace {

/// Each factor is needed for the gradient of the other one.
struct Factors {
  SavedTensor a, b;
};
Factors factors_to_keep(const Variable& a, const Variable& b) {
  return {b.requires_grad() ? a.saved() : SavedTensor(), a.requires_grad() ? b.saved() : SavedTensor()};
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, Transpose ta, Transpose tb) {
  check_matrix("matmul", "a", a);
  check_matrix("matmul", "b", b);
  check_alike("matmul", "a", a, "b", b);
  const bool at = ta == Transpose::kYes, bt = tb == Transpose::kYes;
  const std::int64_t m = a.dim(at ? 1 : 0), k = a.dim(at ? 0 : 1), n = b.dim(bt ? 0 : 1);
  check(b.dim(bt ? 1 : 0) == k, "[matmul] inner sizes must be equal, got ", a.shape(), at ? "^T" : "", " x ",
        b.shape(), bt ? "^T" : "");
  const Tensor c = Tensor::empty({m, n}, a.dtype(), a.device());
  const ProfileScope scope(Part::kGemm);
  if (c.numel() > 0) kernels::matmul.on(c.device())(a, b, at, bt, {m, n, k}, c);
  return c;
}

Variable matmul(const Variable& a, const Variable& b, Transpose ta, Transpose tb) {
  return record("matmul", matmul(a.value(), b.value(), ta, tb), {a, b},
                [=, kept = factors_to_keep(a, b)](const Tensor& dc) {
                  const Transpose n = Transpose::kNo, t = Transpose::kYes;
                  Tensor da, db;
                  if (kept.b.defined()) {  // da = dc op(b)^T, or its transpose op(b) dc^T
                    const Tensor& bv = kept.b.get();
                    da = ta == n ? matmul(dc, bv, n, tb == n ? t : n) : matmul(bv, dc, tb, t);
                  }
                  if (kept.a.defined()) {  // db = op(a)^T dc, or its transpose dc^T op(a)
                    const Tensor& av = kept.a.get();
                    db = tb == n ? matmul(av, dc, ta == n ? t : n, n) : matmul(dc, av, t, ta);
                  }
                  return std::vector{da, db};
                });
}

Tensor matmul_padded(const Tensor& a, const Tensor& b, std::int64_t columns) {
  check_matrix("matmul_padded", "a", a);
  check_matrix("matmul_padded", "b", b);
  check_alike("matmul_padded", "a", a, "b", b);
  const std::int64_t m = a.dim(0), k = a.dim(1), n = b.dim(1);
  check(b.dim(0) == k, "[matmul_padded] inner sizes must be equal, got ", a.shape(), " x ", b.shape());
  check(columns >= n, "[matmul_padded] columns must be at least ", n, ", got ", columns);
  const Tensor c = Tensor::empty({m, columns}, a.dtype(), a.device());
  const ProfileScope scope(Part::kGemm);
  zero_columns(c, n);
  if (m > 0 && n > 0) kernels::matmul.on(c.device())(a, b, false, false, {m, n, k}, c);
  return c;
}

Variable matmul_padded(const Variable& a, const Variable& b, std::int64_t columns) {
  const std::int64_t m = a.dim(0), k = a.dim(1), n = b.dim(1);
  return record("matmul_padded", matmul_padded(a.value(), b.value(), columns), {a, b},
                [=, kept = factors_to_keep(a, b)](const Tensor& dc) {
                  Tensor da, db;
                  if (kept.b.defined()) da = Tensor::empty({m, k}, dc.dtype(), dc.device());
                  if (kept.a.defined()) db = Tensor::empty({k, n}, dc.dtype(), dc.device());
                  const ProfileScope scope(Part::kGemm);
                  if (da.defined() && da.numel() > 0)
                    kernels::matmul.on(da.device())(dc, kept.b.get(), false, true, {m, k, n}, da);
                  if (db.defined() && db.numel() > 0)
                    kernels::matmul.on(db.device())(kept.a.get(), dc, true, false, {k, n, m}, db);
                  return std::vector{da, db};
                });
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

Variable reshape(const Variable& x, const Shape& shape) {
  const Shape before = x.shape();
  return record("reshape", x.value().reshape(shape), {x},
                [before](const Tensor& dy) { return std::vector{dy.reshape(before)}; });
}

Tensor add_bias(const Tensor& x, const Tensor& b) {
  check_matrix("add_bias", "x", x);
  check_alike("add_bias", "x", x, "b", b);
  check_shape("add_bias", "b", b, {x.dim(1)});
  const Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (y.numel() > 0) kernels::add_bias.on(y.device())(x, b, y);
  return y;
}

Variable add_bias(const Variable& x, const Variable& b) {
  return record("add_bias", add_bias(x.value(), b.value()), {x, b}, [=](const Tensor& dy) {
    return std::vector{dy, b.requires_grad() ? sum_rows(dy) : Tensor()};
  });
}

Tensor sum_rows(const Tensor& x) {
  check_matrix("sum_rows", "x", x);
  const Tensor out = Tensor::empty({x.dim(1)}, x.dtype(), x.device());
  if (out.numel() > 0) kernels::sum_rows.on(out.device())(x, out);
  return out;
}

Tensor relu(const Tensor& x) {
  check(x.defined() && is_float(x.dtype()), "[relu] x must be floating point");
  const Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (y.numel() > 0) kernels::relu.on(y.device())(x, y);
  return y;
}

Variable relu(const Variable& x) {
  const Tensor y = relu(x.value());
  // x > 0 exactly where y > 0, so the output serves and x may go.
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
  // The slope is not negative: x > 0 exactly where y > 0.
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
