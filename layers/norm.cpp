#include "layers/norm.h"

namespace rodeo {

BatchNorm::BatchNorm(std::int64_t n, const BatchNormLayerOptions& options, Device device, DType dtype)
    : options_(options) {
  check(n >= 1, "[batch_norm] n must be >= 1, got ", n);
  if (options.affine) {
    register_parameter("module.weight", &w_, Tensor::full({n}, 1, dtype, device));
    register_parameter("module.bias", &b_, Tensor::zeros({n}, dtype, device));
  }
  if (options.track_running_stats) {
    const DType stats = dtype == DType::kF64 ? dtype : DType::kF32;
    register_buffer("module.running_mean", &running_.mean, Tensor::zeros({n}, stats, device));
    register_buffer("module.running_var", &running_.var, Tensor::full({n}, 1, stats, device));
  }
}

Variable BatchNorm::forward(const Variable& x) const {
  return batch_norm(x, w_, b_, running_,
                    {.eps = options_.eps, .momentum = options_.momentum, .training = training()});
}

LayerNorm::LayerNorm(std::int64_t n, double eps, bool affine, Device device, DType dtype) : eps_(eps) {
  check(n >= 1, "[layer_norm] n must be >= 1, got ", n);
  if (!affine) return;
  register_parameter("weight", &w_, Tensor::full({n}, 1, dtype, device));
  register_parameter("bias", &b_, Tensor::zeros({n}, dtype, device));
}

Variable LayerNorm::forward(const Variable& x) const {
  return layer_norm(x, w_, b_, eps_);
}

}  // namespace rodeo
