/// Times batch normalisation in training, forward and backward, against the fastest mode and layout of cuDNN.
/// The results are compared first.
#include "bench/timing.h"
#include "core/context.h"
#include "ops/dense.h"
#include "ops/norm.h"

#if RODEO_WITH_CUDNN
#include <cudnn.h>
#endif
#include <fmt/format.h>

#include <cmath>
#include <functional>

namespace rodeo::bench {
namespace {

struct Case {
  Tensor x, weight, bias, dy;
  std::int64_t m() const { return x.dim(0); }
  std::int64_t n() const { return x.dim(1); }
};

struct Outcome {
  Tensor y, dx;
  double ms = 0;
};

Outcome ours(const Case& c) {
  const Variable x(c.x, true), weight(c.weight, true), bias(c.bias, true);
  Outcome result;
  const auto run = [&] {
    for (Variable v : {x, weight, bias}) v.zero_grad();
    const Variable y = batch_norm(x, weight, bias, {});
    y.backward(c.dy);
    result.y = y.value();
  };
  result.ms = median_milliseconds(c.x.device(), 20, run);
  result.dx = x.grad();
  return result;
}

#if RODEO_WITH_CUDNN
void check_cudnn(cudnnStatus_t status) {
  check(status == CUDNN_STATUS_SUCCESS, "[norm_bench] cuDNN: ", cudnnGetErrorString(status));
}

/// One mode of cuDNN. The rows of x are the batch, or (one_image) the height of one NHWC image.
Outcome cudnn(const Case& c, cudnnBatchNormMode_t mode, bool one_image) {
  cudnnHandle_t handle = Context::of(c.x.device()).cudnn();
  cudnnTensorDescriptor_t rows, columns;
  check_cudnn(cudnnCreateTensorDescriptor(&rows));
  check_cudnn(cudnnCreateTensorDescriptor(&columns));
  const int m = static_cast<int>(c.m()), n = static_cast<int>(c.n());
  check_cudnn(cudnnSetTensor4dDescriptor(rows, one_image ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW,
                                         CUDNN_DATA_FLOAT, one_image ? 1 : m, n, one_image ? m : 1, 1));
  check_cudnn(cudnnDeriveBNTensorDescriptor(columns, rows, mode));
  const auto like = [](const Tensor& t) { return Tensor::empty(t.shape(), t.dtype(), t.device()); };
  Outcome result{like(c.x), like(c.x)};
  const Tensor dweight = like(c.weight), dbias = like(c.bias), mean = like(c.bias), inverse = like(c.bias);
  const float one = 1, zero = 0;
  const auto run = [&] {
    check_cudnn(cudnnBatchNormalizationForwardTraining(
        handle, mode, &one, &zero, rows, c.x.raw(), rows, result.y.raw(), columns, c.weight.raw(),
        c.bias.raw(), 0.1, nullptr, nullptr, 1e-5, mean.raw(), inverse.raw()));
    check_cudnn(cudnnBatchNormalizationBackward(handle, mode, &one, &zero, &one, &zero, rows, c.x.raw(), rows,
                                                c.dy.raw(), rows, result.dx.raw(), columns, c.weight.raw(),
                                                dweight.raw(), dbias.raw(), 1e-5, mean.raw(), inverse.raw()));
  };
  result.ms = median_milliseconds(c.x.device(), 20, run);
  cudnnDestroyTensorDescriptor(rows);
  cudnnDestroyTensorDescriptor(columns);
  return result;
}

double distance(const Tensor& a, const Tensor& b) {
  const std::vector<float> av = a.to_vector<float>(), bv = b.to_vector<float>();
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < av.size(); ++i)
    difference += std::pow(av[i] - bv[i], 2.0), size += std::pow(bv[i], 2.0);
  return std::sqrt(difference / size);
}
#endif

void measure(std::int64_t m, std::int64_t n, Device device) {
  const auto random = [&](const Shape& shape, std::uint64_t stream) {
    return uniform(shape, -1, 1, {1, stream}, DType::kF32, device);
  };
  const Case c{random({m, n}, 1), random({n}, 2), random({n}, 3), random({m, n}, 4)};
  const Outcome own = ours(c);
  fmt::print("{:>9} x {:<5} {:>10.4f}", m, n, own.ms);
#if RODEO_WITH_CUDNN
  double best = INFINITY;
  for (const auto& [mode, one_image] : {std::pair{CUDNN_BATCHNORM_PER_ACTIVATION, false},
                                        {CUDNN_BATCHNORM_SPATIAL, false},
                                        {CUDNN_BATCHNORM_SPATIAL, true},
                                        {CUDNN_BATCHNORM_SPATIAL_PERSISTENT, true}}) {
    try {
      const Outcome peer = cudnn(c, mode, one_image);
      const double off = std::max(distance(own.y, peer.y), distance(own.dx, peer.dx));
      check(off < 1e-4, "[norm_bench] results differ by ", off);
      best = std::min(best, peer.ms);
    } catch (const Error& error) {
      fmt::print(stderr, "{}\n", error.what());
    }
  }
  fmt::print(" {:>10.4f} {:>8.2f}", best, best / own.ms);
#endif
  fmt::print("\n");
}

}  // namespace
}  // namespace rodeo::bench

int main() {
  using namespace rodeo;
  const Device device = parse_device("auto");
  fmt::print(
      "batch_norm, forward and backward in f32, ms, and the fastest mode of cuDNN if this build has it\n");
  fmt::print("{:>17} {:>10} {:>10} {:>8}\n", "rows x columns", "Rodeo", "cuDNN", "ratio");
  const std::int64_t rows = device.is_cuda() ? 1 : 16;  // a CPU times a sixteenth of the rows
  for (const auto& [m, n] : {std::pair{2708, 64}, {169343, 64}, {169343, 256}, {232965, 256}, {2449029, 64}})
    bench::measure(m / rows, n, device);
}
