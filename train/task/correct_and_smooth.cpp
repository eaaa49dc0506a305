#include "train/task/correct_and_smooth.h"

#include <cmath>
#include <vector>

#include "core/error.h"
#include "ops/combine.h"
#include "ops/gcn_norm.h"
#include "ops/pointwise.h"
#include "ops/scale_rows.h"
#include "ops/spmm.h"

namespace rodeo {
namespace {

constexpr int kSteps = 50;
constexpr double kPropagate = 0.9, kCorrect = 0.9791632871592579, kSmooth = 0.7564990804200602,
                 kMostScale = 1000;

/// x clipped to [least, 1].
Tensor clipped(const Tensor& x, double least) {
  const auto filled = [&](double value) { return Tensor::full(x.shape(), value, x.dtype(), x.device()); };
  const Tensor low = maximum(x, filled(least));
  return linear_combination(-1, maximum(linear_combination(-1, low, 0, low), filled(-1)), 0, low);
}

template <class Step>
Tensor propagated(const Tensor& x, double alpha, double least, const Step& step) {
  Tensor z = x;
  for (int i = 0; i < kSteps; ++i) z = clipped(linear_combination(1 - alpha, x, alpha, step(z)), least);
  return z;
}

/// Checks training nodes and their labels. Returns the nodes.
std::vector<std::int64_t> checked_nodes(const char* op, const std::vector<std::int64_t>& y,
                                        const Tensor& train, std::int64_t classes) {
  const std::vector<std::int64_t> nodes = train.to_vector<std::int64_t>();
  check(!nodes.empty(), "[", op, "] there are no training nodes");
  for (const std::int64_t i : nodes)
    check(y[i] >= 0 && y[i] < classes, "[", op, "] the label of training node ", i, " must be in [0, ",
          classes, "), got ", y[i]);
  return nodes;
}

}  // namespace

Tensor correct_and_smooth(const Adjacency& adj, const Tensor& probability, const Tensor& label,
                          const Tensor& train) {
  check(adj.rows() == adj.cols() && probability.shape().rank() == 2 && probability.dim(0) == adj.rows() &&
            label.shape() == Shape{adj.rows()},
        "[correct_and_smooth] the graph must be square, probability [nodes, classes] and label [nodes], got ",
        adj.rows(), " x ", adj.cols(), ", ", probability.shape(), " and ", label.shape());
  const std::int64_t classes = probability.dim(1);
  const std::vector<std::int64_t> y = label.to_vector<std::int64_t>(),
                                  nodes = checked_nodes("correct_and_smooth", y, train, classes);
  const std::vector<double> p = probability.to(DType::kF64).to_vector<double>();
  const Device device = probability.device();
  const Tensor root = inverse_sqrt_degrees(adj, {}, DType::kF64), inverse = mul(root, root);
  const auto back = [&](const std::vector<double>& values) {
    return Tensor::from(values, probability.shape()).to(device);
  };

  std::vector<double> error(p.size());
  double total = 0;
  for (const std::int64_t i : nodes)
    for (std::int64_t c = 0; c < classes; ++c) {
      error[i * classes + c] = (c == y[i]) - p[i * classes + c];
      total += std::abs(error[i * classes + c]);
    }
  const std::vector<double> spread = propagated(back(error), kCorrect, -1, [&](const Tensor& z) {
                                       return scale_rows(spmm(adj, z), inverse);
                                     }).to_vector<double>();
  std::vector<double> corrected = p;
  for (std::int64_t i = 0; i < adj.rows(); ++i) {
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += std::abs(spread[i * classes + c]);
    double scale = total / static_cast<double>(nodes.size()) / sum;
    if (!(scale <= kMostScale)) scale = 1;
    for (std::int64_t c = 0; c < classes; ++c) corrected[i * classes + c] += scale * spread[i * classes + c];
  }
  for (const std::int64_t i : nodes)
    for (std::int64_t c = 0; c < classes; ++c) corrected[i * classes + c] = c == y[i] ? 1 : 0;
  return propagated(back(corrected), kSmooth, 0,
                    [&](const Tensor& z) { return spmm(adj, scale_rows(z, inverse)); })
      .to(probability.dtype());
}

Tensor label_propagation(const Adjacency& adj, const Tensor& label, const Tensor& train,
                         std::int64_t classes) {
  check(adj.rows() == adj.cols() && label.shape() == Shape{adj.rows()},
        "[label_propagation] the graph must be square and label [nodes], got ", adj.rows(), " x ", adj.cols(),
        ", ", label.shape());
  const std::vector<std::int64_t> y = label.to_vector<std::int64_t>();
  std::vector<double> known(static_cast<std::size_t>(adj.rows() * classes));
  for (const std::int64_t i : checked_nodes("label_propagation", y, train, classes))
    known[i * classes + y[i]] = 1;
  const Tensor root = inverse_sqrt_degrees(adj, {}, DType::kF64);
  return propagated(Tensor::from(known, {adj.rows(), classes}).to(root.device()), kPropagate, 0,
                    [&](const Tensor& z) { return scale_rows(spmm(adj, scale_rows(z, root)), root); });
}

}  // namespace rodeo
