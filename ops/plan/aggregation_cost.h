/// What a product of a graph that is sharded over ranks costs in each form (ops/aggregation_types.h), and
/// what a training step costs on other numbers of GPUs. Pure functions of sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/aggregation_types.h"

namespace rodeo {

/// Of one product Y = A X, or of attention.
struct AggregationSizes {
  int ranks = 1;
  std::int64_t nodes = 0, edges = 0;
  std::int64_t columns = 0;  // of all heads
  std::int64_t heads = 0;    // of attention; 0: a sum
  int parts = 1;             // that kOverlap exchanges one after the other; 1: it cuts the edges instead
  std::size_t element_bytes = 4;
  std::size_t weight_bytes = 0;  // of an edge; 0: a sum without edge weights
  /// The rows of other ranks that the edges of a rank read, as a share of all rows of other ranks.
  double halo_share = 1;
  /// The largest cost of a rank, over the mean.
  double imbalance = 1;
};

/// Measured on H200 GPUs of one host, in docs/benchmarks: SpMM in f32 without weights on reddit-like and
/// products-like (kernels.md), the collectives of 233,000 and 2,450,000 rows of 128 columns on two GPUs
/// (collectives.md). `network_bytes` is a data sheet's, 400 Gb/s a GPU, and was not measured. `attention`:
/// the sparse part of GAT 8 x 8 on both graphs, on one GPU (collectives.md).
struct AggregationRates {
  double edge_line_ns = 0.0079;   // to add 128 bytes of a row of X to a sum
  double node_line_ns = 0.5;      // to read 128 bytes of a row of X from memory, as often as it is evicted
  double attention = 3;           // what attention takes, in times of a sum of its columns
  double copy_bytes = 2.5e9;      // read and written a millisecond, to arrange rows; read, of edge weights
  double exchange_bytes = 275e6;  // a rank receives in a millisecond from GPUs of its host
  double network_bytes = 45e6;    // and from other hosts
  double exchange_ms = 0.02;      // for each collective
  int host_gpus = 8;
};

/// How many of n columns make a part of a sum whose rows travel while another part is computed: a multiple of
/// 128 bytes, and at most 4 parts, of which the last may be smaller.
std::int64_t columns_of_part(std::int64_t n, std::size_t element_bytes);
/// The number of these parts; 1 for n = 0.
int sum_parts(std::int64_t n, std::size_t element_bytes);

struct AggregationTime {
  double exchange_ms = 0, sum_ms = 0;
  double bytes_received = 0;  // by a rank
  double ms() const { return exchange_ms + sum_ms; }
};

/// One product in one form; kAuto: in the fastest. With one rank, nothing is exchanged.
AggregationTime predict_aggregation(Aggregation form, const AggregationSizes& sizes,
                                    const AggregationRates& rates = {});
/// The fastest of kRows, kHalo and, where `by_columns`, kOverlap and kColumns.
Aggregation predict_form(const AggregationSizes& sizes, bool by_columns, const AggregationRates& rates = {});

/// The time of an average step on one GPU.
struct StepTimes {
  double sparse_ms = 0, gemm_ms = 0, other_ms = 0;
};
struct SimulatedStep {
  StepTimes parts;
  double exchange_ms = 0;     // that no product hides
  double bytes_received = 0;  // by a rank
  double ms() const { return parts.sparse_ms + parts.gemm_ms + parts.other_ms + exchange_ms; }
};

/// A step on `ranks` GPUs, from its parts on one GPU. Products with weights shrink by the number of ranks,
/// sums as predict_aggregation says, and each product is in its fastest form; `products` are all of forward
/// and backward, with any number of ranks. Gradients of `parameters` values of 4 bytes are summed.
SimulatedStep simulate_step(const StepTimes& one_gpu, const std::vector<AggregationSizes>& products,
                            std::int64_t parameters, int ranks, const AggregationRates& rates = {});

}  // namespace rodeo
