/// What a training step would take on other numbers of GPUs, from its parts on one. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/plan/aggregation_cost.h"

namespace rodeo {

/// The time of an average step on one GPU.
struct StepTimes {
  double sparse_ms = 0, gemm_ms = 0, other_ms = 0;
};
struct SimulatedStep {
  StepTimes parts;
  double exchange_ms = 0;
  double bytes_received = 0;  // by a rank
  double ms() const { return parts.sparse_ms + parts.gemm_ms + parts.other_ms + exchange_ms; }
};

/// A step on `ranks` GPUs. Products with weights shrink by the number of ranks, sums as predict_aggregation
/// says, and each product is in its fastest form. `products` are all of forward and backward, with any number
/// of ranks. An X that is on all ranks is dropped out in whole by each. Gradients of `parameters` values of
/// 4 bytes are summed.
SimulatedStep simulate_step(const StepTimes& one_gpu, const std::vector<AggregationSizes>& products,
                            std::int64_t parameters, int ranks, const AggregationRates& rates = {});

}  // namespace rodeo
