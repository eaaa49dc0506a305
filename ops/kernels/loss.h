/// Kernels of losses and metrics. registry.h states what kernels may assume.
#pragma once

#include "ops/kernels/registry.h"

namespace rodeo {
enum class Difference { kSquare, kAbsolute };  // of regression_loss
}

namespace rodeo::kernels {

// bce.h: x, dx [nodes, c], target u8 [nodes, c], index i64 [k], loss, dloss []
RODEO_KERNEL(bce_with_logits,
             void(const Tensor& x, const Tensor& target, const Tensor& index, const Tensor& loss));
RODEO_KERNEL(bce_with_logits_backward, void(const Tensor& dloss, const Tensor& x, const Tensor& target,
                                            const Tensor& index, const Tensor& dx));
/// metrics f64 [1, 2]; index may be empty
RODEO_KERNEL(label_metrics,
             void(const Tensor& x, const Tensor& target, const Tensor& index, const Tensor& metrics));

// regression_loss.h: x, target, dx [nodes, c] or [nodes]; index i64 [k], undefined for all nodes; loss, dloss
// []
RODEO_KERNEL(regression_loss, void(Difference difference, const Tensor& x, const Tensor& target,
                                   const Tensor& index, const Tensor& loss));
RODEO_KERNEL(regression_loss_backward, void(Difference difference, const Tensor& dloss, const Tensor& x,
                                            const Tensor& target, const Tensor& index, const Tensor& dx));

// loss.h: x, y, logp, logits, scores and their gradients [nodes, c], label i64 [nodes], index i64 [k], loss,
// dloss []
RODEO_KERNEL(log_softmax, void(const Tensor& x, const Tensor& y));
RODEO_KERNEL(log_softmax_backward, void(const Tensor& y, const Tensor& dy, const Tensor& dx));
RODEO_KERNEL(nll_loss,
             void(const Tensor& logp, const Tensor& label, const Tensor& index, const Tensor& loss));
RODEO_KERNEL(nll_loss_backward,
             void(const Tensor& dloss, const Tensor& label, const Tensor& index, const Tensor& dlogp));
RODEO_KERNEL(cross_entropy,
             void(const Tensor& logits, const Tensor& label, const Tensor& index, const Tensor& loss));
RODEO_KERNEL(cross_entropy_backward, void(const Tensor& dloss, const Tensor& logits, const Tensor& label,
                                          const Tensor& index, const Tensor& dlogits));
/// metrics f64 [sets, 2]; each of at most four sets may be empty
RODEO_KERNEL(node_metrics, void(const Tensor& scores, const Tensor& label, const std::vector<Tensor>& sets,
                                const Tensor& metrics));

// soft_cross_entropy.h: logp, target, dlogp [nodes, c] of one dtype, not empty; loss, dloss []
RODEO_KERNEL(soft_nll_loss, void(const Tensor& logp, const Tensor& target, const Tensor& loss));
RODEO_KERNEL(soft_nll_loss_backward, void(const Tensor& dloss, const Tensor& target, const Tensor& dlogp));

// macro_f1.h: scores [nodes, c], label i64 [nodes], index i64 [k], k >= 1, f1 f64 [1]
RODEO_KERNEL(macro_f1,
             void(const Tensor& scores, const Tensor& label, const Tensor& index, const Tensor& f1));

}  // namespace rodeo::kernels
