/// Normalisation as layers.
#pragma once

#include "layers/module.h"
#include "ops/norm.h"

namespace rodeo {

struct BatchNormLayerOptions {
  double eps = 1e-5;
  double momentum = 0.1;
  bool affine = true;               // weight and bias
  bool track_running_stats = true;  // else evaluation uses the statistics of its input too
};

/// ops/norm.h's batch_norm over the nodes. x [nodes, n] -> [nodes, n]. In training mode running_mean (0 at
/// first) and running_var (1) are updated in place by every forward, whether gradients are recorded or not.
/// Parameters, as PyG's: module.weight (1), module.bias (0); buffers module.running_mean, module.running_var.
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

/// ops/norm.h's layer_norm of every node by itself: PyG's LayerNorm(n, mode="node"). Its other mode, one mean
/// and variance for the whole graph, is not here. Parameters: weight (1), bias (0).
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
