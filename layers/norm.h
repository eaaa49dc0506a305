/// Normalisation layers.
#pragma once

#include "layers/module.h"
#include "ops/norm.h"

namespace rodeo {

struct BatchNormLayerOptions {
  double eps = 1e-5;
  double momentum = 0.1;
  bool affine = true;               // weight and bias
  bool track_running_stats = true;  // otherwise evaluation uses the statistics of its input
};

/// batch_norm (ops/norm.h) over the nodes. x [nodes, n] -> [nodes, n]. In training mode, every forward
/// updates running_mean (initially 0) and running_var (1) in place, also under NoGrad. Parameters, as in PyG:
/// module.weight (1), module.bias (0). Buffers: module.running_mean, module.running_var.
class BatchNorm : public Module {
 public:
  explicit BatchNorm(std::int64_t n, const BatchNormLayerOptions& options = {}, Device device = kCpu,
                     DType dtype = DType::kF32);
  Variable forward(const Variable& x) const;

 private:
  BatchNormLayerOptions options_;
  Variable w_, b_;        // [n]; undefined unless affine
  RunningStats running_;  // undefined unless tracked
};

/// layer_norm (ops/norm.h) of each node: PyG's LayerNorm(n, mode="node"). PyG's mode="graph" is not
/// implemented. Parameters: weight (1), bias (0).
class LayerNorm : public Module {
 public:
  explicit LayerNorm(std::int64_t n, double eps = 1e-5, bool affine = true, Device device = kCpu,
                     DType dtype = DType::kF32);
  Variable forward(const Variable& x) const;

 private:
  double eps_;
  Variable w_, b_;  // [n]; undefined unless affine
};

}  // namespace rodeo
