/// Times batch norm, layer norm, log-softmax and activations, forward and backward in f32, against the
/// fastest form of cuDNN. Results are compared first. Says which forms a CUDA graph captures and which give
/// the same bits again.
#include "bench/arguments.h"
#include "bench/timing.h"
#include "core/context.h"
#include "core/cuda_graph.h"
#include "core/quoting.h"
#include "core/threads.h"
#include "ops/dense.h"
#include "ops/loss.h"
#include "ops/norm.h"
#include "ops/pointwise.h"

#if RODEO_WITH_CUDNN
#include <cudnn.h>
#endif
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>

namespace rodeo::bench {
namespace {

struct Case {
  Tensor x, weight, bias, dy;
  std::int64_t m() const { return x.dim(0); }
  std::int64_t n() const { return x.dim(1); }
};

struct Outcome {
  Tensor y, dx;
};
/// Enqueues forward and backward.
using Form = std::function<Outcome()>;

enum class Activation { kRelu, kElu, kSigmoid, kTanh };

Tensor filled(std::int64_t n, float value, Device device) {
  const Tensor out = Tensor::empty({n}, DType::kF32, device);
  out.fill(value);
  return out;
}

struct Measured {
  double ms = INFINITY;
  bool captured = false, same_bits = false;
};

bool equal_bits(const Tensor& a, const Tensor& b) {
  const Tensor on_host[] = {a.to(kCpu), b.to(kCpu)};
  return std::memcmp(on_host[0].raw(), on_host[1].raw(), static_cast<std::size_t>(a.nbytes())) == 0;
}

Measured measure(const Form& form, Device device) {
  constexpr int kRuns = 5;
  Measured out{median_milliseconds(device, 20, form), false, true};
  const Outcome first = form();
  const Outcome kept{first.y.to(kCpu), first.dx.to(kCpu)};
  for (int i = 0; i < kRuns; ++i) {
    const Outcome again = form();
    out.same_bits = out.same_bits && equal_bits(kept.y, again.y) && equal_bits(kept.dx, again.dx);
  }
  try {
    if (device.is_cuda()) out.captured = CudaGraph::capture(device, [&] { form(); }).num_kernels() > 0;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
  return out;
}

/// f(x, weight, bias), and the gradient of x.
template <class F>
Form ours(const Case& c, F f) {
  const Variable x(c.x, true), weight(c.weight, true), bias(c.bias, true);
  return [=] {
    for (Variable v : {x, weight, bias}) v.zero_grad();
    const Variable y = f(x, weight, bias);
    y.backward(c.dy);
    return Outcome{y.value(), x.grad()};
  };
}

#if RODEO_WITH_CUDNN
void check_cudnn(cudnnStatus_t status) {
  check(status == CUDNN_STATUS_SUCCESS, "[norm_bench] cuDNN: ", cudnnGetErrorString(status));
}

Tensor like(const Tensor& t) {
  return Tensor::empty(t.shape(), t.dtype(), t.device());
}

struct Descriptor {
  cudnnTensorDescriptor_t of = nullptr;
  Descriptor() { check_cudnn(cudnnCreateTensorDescriptor(&of)); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { cudnnDestroyTensorDescriptor(of); }
  void set(std::int64_t images, std::int64_t channels, std::int64_t height,
           cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW) const {
    check_cudnn(cudnnSetTensor4dDescriptor(of, format, CUDNN_DATA_FLOAT, static_cast<int>(images),
                                           static_cast<int>(channels), static_cast<int>(height), 1));
  }
};

const float kOne = 1, kZero = 0;

/// Batch norm of what `set` makes of x. scale and bias have an element a channel.
Form cudnn_batch_norm(const Case& c, cudnnBatchNormMode_t mode, const Tensor& scale, const Tensor& bias,
                      const std::function<void(const Descriptor&)>& set) {
  const auto rows = std::make_shared<Descriptor>(), channels = std::make_shared<Descriptor>();
  set(*rows);
  check_cudnn(cudnnDeriveBNTensorDescriptor(channels->of, rows->of, mode));
  const Outcome out{like(c.x), like(c.x)};
  const Tensor dscale = like(scale), dbias = like(bias), mean = like(bias), inverse = like(bias);
  return [=, handle = Context::of(c.x.device()).cudnn()] {
    check_cudnn(cudnnBatchNormalizationForwardTraining(
        handle, mode, &kOne, &kZero, rows->of, c.x.raw(), rows->of, out.y.raw(), channels->of, scale.raw(),
        bias.raw(), 0.1, nullptr, nullptr, 1e-5, mean.raw(), inverse.raw()));
    check_cudnn(cudnnBatchNormalizationBackward(
        handle, mode, &kOne, &kZero, &kOne, &kZero, rows->of, c.x.raw(), rows->of, c.dy.raw(), rows->of,
        out.dx.raw(), channels->of, scale.raw(), dscale.raw(), dbias.raw(), 1e-5, mean.raw(), inverse.raw()));
    return out;
  };
}

/// The rows of x are the batch, or the height of one NHWC image.
std::vector<Form> cudnn_batch_norms(const Case& c) {
  const auto batch = [&](const Descriptor& d) { d.set(c.m(), c.n(), 1); };
  const auto image = [&](const Descriptor& d) { d.set(1, c.n(), c.m(), CUDNN_TENSOR_NHWC); };
  return {cudnn_batch_norm(c, CUDNN_BATCHNORM_PER_ACTIVATION, c.weight, c.bias, batch),
          cudnn_batch_norm(c, CUDNN_BATCHNORM_SPATIAL, c.weight, c.bias, batch),
          cudnn_batch_norm(c, CUDNN_BATCHNORM_SPATIAL, c.weight, c.bias, image),
          cudnn_batch_norm(c, CUDNN_BATCHNORM_SPATIAL_PERSISTENT, c.weight, c.bias, image)};
}

/// cuDNN's C interface has no layer norm. Without weights it is the batch norm of one image whose channels
/// are the rows; a weight for each column would be another pass, which is not timed.
std::vector<Form> cudnn_layer_norms(const Case& c) {
  const Tensor scale = filled(c.m(), 1, c.x.device()), bias = filled(c.m(), 0, c.x.device());
  const auto image = [&](const Descriptor& d) { d.set(1, c.m(), c.n()); };
  return {cudnn_batch_norm(c, CUDNN_BATCHNORM_SPATIAL, scale, bias, image)};
}

std::vector<Form> cudnn_log_softmaxes(const Case& c) {
  const auto rows = std::make_shared<Descriptor>();
  rows->set(c.m(), c.n(), 1);
  std::vector<Form> forms;
  for (const cudnnSoftmaxMode_t mode : {CUDNN_SOFTMAX_MODE_INSTANCE, CUDNN_SOFTMAX_MODE_CHANNEL})
    forms.push_back([=, out = Outcome{like(c.x), like(c.x)}, handle = Context::of(c.x.device()).cudnn()] {
      check_cudnn(cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_LOG, mode, &kOne, rows->of, c.x.raw(), &kZero,
                                      rows->of, out.y.raw()));
      check_cudnn(cudnnSoftmaxBackward(handle, CUDNN_SOFTMAX_LOG, mode, &kOne, rows->of, out.y.raw(),
                                       rows->of, c.dy.raw(), &kZero, rows->of, out.dx.raw()));
      return out;
    });
  return forms;
}

std::vector<Form> cudnn_activation(const Case& c, Activation kind) {
  constexpr cudnnActivationMode_t kModes[] = {CUDNN_ACTIVATION_RELU, CUDNN_ACTIVATION_ELU,
                                              CUDNN_ACTIVATION_SIGMOID, CUDNN_ACTIVATION_TANH};
  const auto rows = std::make_shared<Descriptor>();
  rows->set(c.m(), c.n(), 1);
  cudnnActivationDescriptor_t activation;  // freed at the end of the program
  check_cudnn(cudnnCreateActivationDescriptor(&activation));
  check_cudnn(
      cudnnSetActivationDescriptor(activation, kModes[static_cast<int>(kind)], CUDNN_PROPAGATE_NAN, 1));
  return {[=, out = Outcome{like(c.x), like(c.x)}, handle = Context::of(c.x.device()).cudnn()] {
    check_cudnn(cudnnActivationForward(handle, activation, &kOne, rows->of, c.x.raw(), &kZero, rows->of,
                                       out.y.raw()));
    check_cudnn(cudnnActivationBackward(handle, activation, &kOne, rows->of, out.y.raw(), rows->of,
                                        c.dy.raw(), rows->of, c.x.raw(), &kZero, rows->of, out.dx.raw()));
    return out;
  }};
}
#else
std::vector<Form> cudnn_batch_norms(const Case&) {
  return {};
}
std::vector<Form> cudnn_layer_norms(const Case&) {
  return {};
}
std::vector<Form> cudnn_log_softmaxes(const Case&) {
  return {};
}
std::vector<Form> cudnn_activation(const Case&, Activation) {
  return {};
}
#endif

double distance(const Tensor& a, const Tensor& b) {
  const std::vector<float> av = a.to_vector<float>(), bv = b.to_vector<float>();
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < av.size(); ++i)
    difference += std::pow(av[i] - bv[i], 2.0), size += std::pow(bv[i], 2.0);
  return std::sqrt(difference / size);
}

struct Operation {
  const char* name;
  std::function<Form(const Case&)> own;
  std::function<std::vector<Form>(const Case&)> peers;
  bool of_classes = false;  // its rows are logits
};

template <class F>
Operation activation(const char* name, F f, Activation kind) {
  return {name,
          [=](const Case& c) { return ours(c, [=](const Variable& x, const auto&...) { return f(x); }); },
          [=](const Case& c) { return cudnn_activation(c, kind); }};
}

std::vector<Operation> operations() {
  using V = const Variable&;
  return {{"batch_norm",
           [](const Case& c) {
             return ours(c, [](V x, V weight, V bias) { return batch_norm(x, weight, bias, {}); });
           },
           cudnn_batch_norms},
          {"layer_norm",
           [](const Case& c) {
             const Device device = c.x.device();
             return ours({c.x, filled(c.n(), 1, device), filled(c.n(), 0, device), c.dy},
                         [](V x, V weight, V bias) { return layer_norm(x, weight, bias); });
           },
           cudnn_layer_norms},
          {"log_softmax", [](const Case& c) { return ours(c, [](V x, V, V) { return log_softmax(x); }); },
           cudnn_log_softmaxes, true},
          activation(
              "relu", [](V x) { return relu(x); }, Activation::kRelu),
          activation(
              "elu", [](V x) { return elu(x); }, Activation::kElu),
          activation(
              "sigmoid", [](V x) { return sigmoid(x); }, Activation::kSigmoid),
          activation(
              "tanh", [](V x) { return rodeo::tanh(x); }, Activation::kTanh)};
}

struct Total {
  int shapes = 0, near = 0, near_and_safe = 0;  // near: at most 1.2 times our time
};

void compare(const Operation& operation, std::int64_t m, std::int64_t n, Device device, Total& total) {
  const auto random = [&](const Shape& shape, std::uint64_t stream) {
    return uniform(shape, -1, 1, {1, stream}, DType::kF32, device);
  };
  const Case c{random({m, n}, 1), random({n}, 2), random({n}, 3), random({m, n}, 4)};
  const Form form = operation.own(c);
  const Measured own = measure(form, device);
  const auto marks = [](const Measured& of) {
    return str(of.captured ? "graph" : "-", ", ", of.same_bits ? "same bits" : "other bits");
  };
  fmt::print("{:<12} {:>8} x {:<4} {:>9.4f} {:>18}", operation.name, m, n, own.ms, marks(own));
  Measured best;
  for (const Form& peer : operation.peers(c)) try {
      const Outcome want = form(), got = peer();
      const double off = std::max(distance(got.y, want.y), distance(got.dx, want.dx));
      check(off < 1e-4, "[norm_bench] ", operation.name, ": results differ by ", off);
      const Measured its = measure(peer, device);
      if (its.ms < best.ms) best = its;
    } catch (const Error& error) {
      fmt::print(stderr, "{}\n", error.what());
    }
  ++total.shapes;
  if (std::isfinite(best.ms)) {
    fmt::print(" {:>9.4f} {:>18} {:>8.2f}", best.ms, marks(best), best.ms / own.ms);
    const bool near = best.ms <= 1.2 * own.ms;
    total.near += near;
    total.near_and_safe += near && best.captured && best.same_bits;
  }
  fmt::print("\n");
  std::fflush(stdout);  // a run that is cut off has shown what it measured
}

/// Those named, in the order of operations(); none named: all.
std::vector<Operation> operations_named(const Texts& names) {
  std::vector<Operation> all = operations();
  for (const std::string& name : names)
    check(
        std::any_of(all.begin(), all.end(), [&](const Operation& one) { return one.name == name; }),
        "--operations: expected some of batch_norm, layer_norm, log_softmax, relu, elu, sigmoid, tanh, got ",
        printable(name));
  if (!names.empty())
    std::erase_if(all, [&](const Operation& one) {
      return std::find(names.begin(), names.end(), one.name) == names.end();
    });
  return all;
}

void run(const std::vector<Operation>& operations) {
  const Device device = parse_device("auto");
  fmt::print(
      "Forward and backward in f32, ms, and the fastest form of cuDNN if this build has it.\n"
      "graph: a CUDA graph captures it. same bits: of 5 more runs.\n\n");
  fmt::print("{:<12} {:>8} x {:<4} {:>9} {:>18} {:>9} {:>18} {:>8}\n", "operation", "rows", "columns",
             "Rodeo", "", "cuDNN", "", "ratio");
  const std::int64_t rows = device.is_cuda() ? 1 : 64;  // a CPU times a part of the rows
  std::map<std::string, Total> totals;
  for (const Operation& operation : operations)
    for (const auto& [m, n, classes] : {std::tuple{2708, 64, 7},
                                        {169343, 64, 40},
                                        {169343, 256, 40},
                                        {232965, 256, 41},
                                        {2449029, 64, 47}}) {
      if (operation.of_classes && m == 169343 && n == 256) continue;  // the same logits
      compare(operation, m / rows, operation.of_classes ? classes : n, device, totals[operation.name]);
    }
  fmt::print("\ncuDNN takes at most 1.2 times as long: shapes, of them in a CUDA graph with the same bits\n");
  for (const auto& [name, total] : totals)
    fmt::print("{:<12} {} of {}, {}\n", name, total.near, total.shapes, total.near_and_safe);
}

}  // namespace
}  // namespace rodeo::bench

int main(int argc, char** argv) {
  rodeo::configure_threads(argv);
  using namespace rodeo::bench;
  try {
    cxxopts::Options description("norm_bench",
                                 "Times normalisation, softmax and activations, and cuDNN beside them.\n");
    description.custom_help("[options]").allow_unrecognised_options();
    cxxopts::OptionAdder add = description.add_options();
    add("operations", "Some of batch_norm, layer_norm, log_softmax, relu, elu, sigmoid, tanh (default: all)",
        cxxopts::value<Texts>(), "LIST");
    add("h,help", "Print this help");
    const cxxopts::ParseResult parsed = parse_arguments(description, "--help takes no value", argc, argv);
    if (parsed.count("help") > 0) {
      fmt::print("{}", description.help());
      return 0;
    }
    reject_strays(parsed);
    run(operations_named(list(parsed, "operations")));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "norm_bench: {}\n", rodeo::printable(error.what()));
    return 2;
  }
}
