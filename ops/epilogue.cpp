#include "ops/epilogue.h"

#include "ops/checks.h"
#include "ops/kernels.h"

namespace rodeo {
namespace {

void check_rows(const Tensor& x, std::string_view what, const Tensor& factor) {
  if (!factor.defined()) return;
  check_alike("epilogue", "x", x, what, factor);
  check_shape("epilogue", what, factor, {x.dim(0)});
}

}  // namespace

Tensor epilogue(const Tensor& x, const Tensor& bias, const EpilogueOptions& options, std::int64_t columns) {
  check_matrix("epilogue", "x", x);
  const std::int64_t pitch = x.dim(1);
  std::int64_t n = columns == 0 ? pitch : columns;
  if (bias.defined()) {
    check_vector("epilogue", "bias", bias);
    check_alike("epilogue", "x", x, "bias", bias);
    if (columns == 0) n = bias.dim(0);
    check_shape("epilogue", "bias", bias, {n});
  }
  check(n >= 0 && n <= pitch, "[epilogue] the result has ", n, " columns, and x must have as many, got ",
        x.shape());
  check_rows(x, "scale", options.scale);
  check_rows(x, "after", options.after);
  check(options.activation != Activation::kElu || !options.after.defined(),
        "[epilogue] elu takes no factor after it");
  check(options.dropout >= 0 && options.dropout < 1, "[epilogue] dropout must be in [0, 1), got ",
        options.dropout);
  const Tensor y = Tensor::empty({x.dim(0), n}, x.dtype(), x.device());
  if (y.numel() > 0) kernels::epilogue.on(y.device())(x, bias, options, y);
  return y;
}

Variable epilogue(const Variable& x, const Variable& bias, const EpilogueOptions& options,
                  std::int64_t columns) {
  const Tensor y = epilogue(x.value(), bias.defined() ? bias.value() : Tensor(), options, columns);
  const bool bias_learns = bias.requires_grad();
  return record("epilogue", y, {x, bias}, [y, options, bias_learns, shape = x.shape()](const Tensor& dy) {
    const Tensor dx = Tensor::empty(shape, y.dtype(), y.device());
    Tensor db;
    if (bias_learns) db = Tensor::empty({y.dim(1)}, y.dtype(), y.device());
    if (y.numel() > 0) {
      kernels::epilogue_backward.on(y.device())(y, dy, options, dx, db);
    } else {
      dx.fill(0);
      if (db.defined()) db.fill(0);
    }
    return std::vector{dx, db};
  });
}

}  // namespace rodeo
