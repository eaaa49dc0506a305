#pragma once

#include <memory>

#include "core/enum_names.h"
#include "layers/linear.h"

namespace rodeo {

enum class PoolKind {
  kSum,
  kMean,
  kMax,
  kAttention,  // sum of softmax over the nodes of the graph of (x W + b) times x (Li et al., ICLR 2016)
};
template <>
inline constexpr auto kEnumNames<PoolKind> = enum_names<PoolKind>({{PoolKind::kSum, "sum"},
                                                                   {PoolKind::kMean, "mean"},
                                                                   {PoolKind::kMax, "max"},
                                                                   {PoolKind::kAttention, "attention"}});

/// One row for each graph of a batch from the rows of its nodes: PyG's global_add_pool, global_mean_pool,
/// global_max_pool and AttentionalAggregation.
///   x [nodes, width], offsets i64 [graphs + 1] as segment_reduce() reads them -> [graphs, width]; 0 for a
///   graph without
/// nodes. Parameters: kAttention "gate_nn.weight" and "gate_nn.bias", Linear(width, 1). Waits for the device.
class GraphPool : public Module {
 public:
  GraphPool(PoolKind kind, std::int64_t width, Random& random, Device device = kCpu,
            DType dtype = DType::kF32);
  Variable forward(const Variable& x, const Tensor& offsets) const;

 private:
  PoolKind kind_;
  std::unique_ptr<Linear> gate_;
};

}  // namespace rodeo
