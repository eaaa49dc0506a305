#pragma once

#include "layers/convolution.h"
#include "layers/linear.h"

namespace rodeo {

/// Principal neighbourhood aggregation (Corso et al., NeurIPS 2020), with one tower:
///   m_ij = W_pre [x_i, x_j] + b_pre
///   a_i  = [mean, max, min, std] over the neighbours j of m_ij
///   y_i  = W (W_post [x_i, a_i, s_i a_i, a_i / s_i] + b_post) + b,   s_i = log(d_i + 1) / log_degree
/// x [sources, in] -> [destinations, out]. d_i is the number of neighbours. A node without any has a_i = 0;
/// std is `deviation` (ops/pointwise.h). Dense x only; no self loops are added. No array is as long as the
/// edges. Initial weights are those of Linear. Parameters: pre_nns.0.0.*, post_nns.0.0.*, lin.*; buffer:
/// aggr_module.avg_deg_log [1], log_degree.
class PnaConv : public Convolution {
 public:
  /// log_degree: the mean of log(degree + 1) over the nodes of the training graph. Throws Error unless > 0.
  PnaConv(std::int64_t in, std::int64_t out, double log_degree, Random& random, Device device = kCpu,
          DType dtype = DType::kF32);
  Variable convolve(const ConvGraph& graph, Features x, const ConvCall& call) const override;
  std::int64_t width() const override { return lin_.weight().dim(1); }

 private:
  std::int64_t in_;
  Linear pre_, post_, lin_;
  Tensor log_degree_;
};

/// The mean of log(degree + 1) over the rows of a graph, of all ranks; at least a small positive number.
double mean_log_degree(const Adjacency& adj);

extern const ConvKind kPna;

}  // namespace rodeo
