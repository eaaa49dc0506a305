/// Kernels of optimiser steps and gradient norms. registry.h states what kernels may assume.
#pragma once

#include "ops/kernels/registry.h"
#include "ops/optim_types.h"

namespace rodeo {
/// Found by argument-dependent lookup from kernels::KernelCall.
inline void add_operands(std::vector<Tensor>& all, const std::vector<AdamUpdate>& updates) {
  for (const AdamUpdate& u : updates)
    for (const Tensor* x : {&u.g, &u.m, &u.v, &u.p})
      if (x->defined()) all.push_back(*x);
}
inline void add_operands(std::vector<Tensor>& all, const std::vector<SgdUpdate>& updates) {
  for (const SgdUpdate& u : updates)
    for (const Tensor* x : {&u.g, &u.m, &u.p})
      if (x->defined()) all.push_back(*x);
}
}  // namespace rodeo

namespace rodeo::kernels {

// grad_clip.h
/// out [] = the sum of all squares, in f64.
RODEO_KERNEL(sum_squares, void(const std::vector<Tensor>& xs, const Tensor& out));
/// ys = xs times min(1, max_norm / (sqrt(squares) + 1e-6))
RODEO_KERNEL(scale_to_norm, void(const std::vector<Tensor>& xs, const Tensor& squares, double max_norm,
                                 const std::vector<Tensor>& ys));
// optim.h
RODEO_KERNEL(adam_step, void(const std::vector<AdamUpdate>& updates, const Tensor& steps, const Tensor& lr));
RODEO_KERNEL(sgd_step, void(const std::vector<SgdUpdate>& updates, const Tensor& steps, const Tensor& lr));

}  // namespace rodeo::kernels
