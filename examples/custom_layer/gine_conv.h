/// A layer that is not in the library: a graph convolution with edge features.
#pragma once

#include "rodeo/layers/module.h"
#include "rodeo/ops/dense.h"
#include "rodeo/ops/edge_sum.h"
#include "rodeo/ops/gcn_norm.h"
#include "rodeo/ops/sddmm.h"

/// The edge convolution of Hu et al., "Strategies for pre-training graph neural networks", ICLR 2020:
///   h = x W,   y_i = h_i + b + mean over the edges e = (i, j) of relu(h_j + f_e U)
///   x [nodes, in], f [edges, edge_in] in the graph's edge order  ->  [nodes, out]
/// `scale` [nodes] is 1 / (edges of each row). The published layer sums; the mean is more stable for hubs.
class GineConv : public rodeo::Module {
 public:
  GineConv(std::int64_t in, std::int64_t edge_in, std::int64_t out, rodeo::Random& random,
           rodeo::Device device = rodeo::kCpu, rodeo::DType dtype = rodeo::DType::kF32)
      : out_(out) {
    register_parameter("weight", &w_, rodeo::glorot_uniform(in, out, random.next(), dtype, device));
    register_parameter("edge_weight", &u_, rodeo::glorot_uniform(edge_in, out, random.next(), dtype, device));
    register_parameter("bias", &b_, rodeo::Tensor::zeros({out}, dtype, device));
  }

  rodeo::Variable forward(const rodeo::Adjacency& adj, const rodeo::Tensor& scale, const rodeo::Variable& x,
                          const rodeo::Variable& f) const {
    using namespace rodeo;
    const Variable h = matmul(x, w_);
    // h_j at every edge: sddmm with kAdd adds row i of its first operand (here zero) and row j of its second.
    const Variable zero(Tensor::zeros({adj.rows(), out_}, x.dtype(), x.device()));
    const Variable message = relu(add(sddmm(adj, zero, h, SddmmOp::kAdd), matmul(f, u_)));
    return add_bias(add(h, scale_rows(edge_sum(adj, message), scale)), b_);
  }

 private:
  std::int64_t out_;
  rodeo::Variable w_;  // [in, out]
  rodeo::Variable u_;  // [edge_in, out]
  rodeo::Variable b_;  // [out]
};
