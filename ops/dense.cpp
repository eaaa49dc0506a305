#include "ops/dense.h"

#include <cmath>
#include <optional>

#include "core/elementwise.h"
#include "ops/checks.h"
#include "ops/fixed_slopes.h"
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

/// The gradient of a product, which is two products. dc may have padding columns.
struct ProductRule {
  const char* op;
  SavedTensor a, b;  // each is kept where the other one learns
  bool ta, tb;
  kernels::MatmulSizes sizes;
  DType a_dtype, b_dtype;

  std::vector<Tensor> operator()(const Tensor& dc) const {
    const auto [m, n, k] = sizes;
    Tensor da, db;
    if (b.defined())  // da = dc op(b)^T, or its transpose op(b) dc^T
      da = ta ? product(b.get(), dc, tb, true, {k, m, n}, a_dtype, m)
              : product(dc, b.get(), false, !tb, {m, k, n}, a_dtype, k);
    if (a.defined())  // db = op(a)^T dc, or its transpose dc^T op(a)
      db = tb ? product(dc, a.get(), true, ta, {n, k, m}, b_dtype, k)
              : product(a.get(), dc, !ta, false, {k, n, m}, b_dtype, n);
    return {da, db};
  }
  std::vector<Variable> operator()(const Variable& padded) const {
    check(a_dtype == b_dtype, "[autograd] '", op, "' of factors in ", a_dtype, " and ", b_dtype,
          " has no second derivative: cast() one of them");
    const auto times = [](const Variable& left, const Variable& right, bool tl, bool tr) {
      return matmul(left, right, Transpose{tl}, Transpose{tr});
    };
    Variable dc = padded;
    if (padded.dim(1) > sizes.n) {  // the first columns, as a product
      std::vector<double> ones(static_cast<std::size_t>(padded.dim(1) * sizes.n));
      for (std::int64_t i = 0; i < sizes.n; ++i) ones[static_cast<std::size_t>(i * sizes.n + i)] = 1;
      const Tensor first = Tensor::from(ones, {padded.dim(1), sizes.n}, padded.device());
      dc = times(padded, Variable(first.to(padded.dtype())), false, false);
    }
    Variable da, db;
    if (b.defined()) da = ta ? times(b.like(dc), dc, tb, true) : times(dc, b.like(dc), false, !tb);
    if (a.defined()) db = tb ? times(dc, a.like(dc), true, ta) : times(a.like(dc), dc, !ta, false);
    return {da, db};
  }
};

Variable recorded(const char* op, const Variable& a, const Variable& b, bool ta, bool tb,
                  std::optional<std::int64_t> columns) {
  const Product p = multiply(op, a.value(), b.value(), ta, tb, columns);
  SavedTensor kept_a, kept_b;
  if (b.requires_grad()) kept_a = p.a.dtype() == a.dtype() ? a.saved() : SavedTensor(p.a);
  if (a.requires_grad()) kept_b = p.b.dtype() == b.dtype() ? b.saved() : SavedTensor(p.b);
  return record(op, p.c, {a, b}, ProductRule{op, kept_a, kept_b, ta, tb, p.sizes, a.dtype(), b.dtype()});
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
  return record("add", add(a.value(), b.value()), {a, b}, [](const auto& dy) { return std::vector{dy, dy}; });
}

namespace {
Tensor in_dtype(const Tensor& x, DType dtype) {
  return x.to(dtype);
}
Variable in_dtype(const Variable& x, DType dtype) {
  return x.dtype() == dtype ? x : cast(x, dtype);
}
}  // namespace

Variable cast(const Variable& x, DType dtype) {
  check(x.defined() && is_float(x.dtype()) && is_float(dtype),
        "[cast] x must be floating point, and so must ", dtype, " be");
  const DType before = x.dtype();
  return record("cast", x.value().to(dtype), {x},
                [before](const auto& dy) { return std::vector{in_dtype(dy, before)}; });
}

Variable reshape(const Variable& x, const Shape& shape) {
  const Shape before = x.shape();
  SavedTensor saved = x.saved();
  if (saved.recomputes()) saved = SavedTensor([=] { return saved.get().reshape(shape); });
  return record(
      "reshape", x.value().reshape(shape), {x},
      [before](const auto& dy) { return std::vector{reshape(dy, before)}; },
      saved.recomputes() ? saved : SavedTensor());
}

namespace {

/// In the accumulator dtype.
Tensor column_sums(const Tensor& x) {
  const Tensor out = Tensor::empty({x.dim(1)}, sum_dtype(x.dtype()), x.device());
  if (out.numel() > 0) kernels::sum_rows.on(out.device())(x, out);
  return out;
}

Tensor bias_gradient(const Tensor& dy, DType dtype) {
  return column_sums(dy).to(dtype);
}
Variable bias_gradient(const Variable& dy, DType dtype) {
  return in_dtype(sum_rows(dy), dtype);
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
  return record("add_bias", add_bias(x.value(), b.value()), {x, b}, [=](const auto& dy) {
    using T = std::decay_t<decltype(dy)>;
    return std::vector{dy, b.requires_grad() ? bias_gradient(dy, b.dtype()) : T()};
  });
}

Tensor sum_rows(const Tensor& x) {
  check_matrix("sum_rows", "x", x);
  return column_sums(x).to(x.dtype());
}

Variable sum_rows(const Variable& x) {
  const Tensor zeros = Tensor::zeros(x.shape(), x.dtype(), x.device());
  return record("sum_rows", sum_rows(x.value()), {x}, [zeros](const auto& dy) {
    return std::vector{add_bias(std::decay_t<decltype(dy)>(zeros), dy)};
  });
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
  return record_fixed_slopes("relu", y, x, [y](const Tensor& dy) {
    const Tensor dx = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
    if (dx.numel() > 0) kernels::relu_backward.on(dx.device())(y, dy, dx);
    return dx;
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
  return record_fixed_slopes("leaky_relu", y, x, [=](const Tensor& dy) {
    const Tensor dx = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
    if (dx.numel() > 0) kernels::leaky_relu_backward.on(dx.device())(y, dy, slope, dx);
    return dx;
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
                [=](const auto& dy) { return std::vector{dropout(dy, p, key)}; });
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
