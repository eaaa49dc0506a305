/// What a product over the ranks of a sharded graph costs: sizes, measured rates, and the terms of which each
/// form of exchange (ops/sparse/aggregation_forms.h) makes its cost. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rodeo {

/// One product Y = A X over all ranks, or attention.
struct AggregationSizes {
  int ranks = 1;
  std::int64_t nodes = 0, edges = 0;  // of all ranks
  std::int64_t columns = 0;           // of all heads
  std::int64_t heads = 0;             // of attention; 0: a sum
  std::size_t element_bytes = 4;
  std::size_t weight_bytes = 0;  // of an edge; 0: a sum without edge weights
  double halo_fraction = 1;      // of the rows of other ranks, how many the edges of a rank read
  double imbalance = 1;          // the largest cost of a rank, over the mean
  bool x_on_all_ranks = false;   // nothing is exchanged
};

/// Measured on H200 GPUs of one host, in docs/benchmarks: SpMM in f32 without weights on reddit-like and
/// products-like (kernels.md), the collectives of 233,000 and 2,450,000 rows of 128 columns on two GPUs
/// (collectives.md). `exchange_ms` is that of the epochs of GCN on both graphs, where a rank also waits for
/// the slower one. measured_rates (ops/sparse/exchange_rates.h) has those of the ranks of a run.
/// `network_bytes` is a data sheet's, 400 Gb/s a GPU, and was not measured. `attention`: the sparse part of
/// GAT 8 x 8 on both graphs, on one GPU (collectives.md).
struct AggregationRates {
  double edge_line_ns = 0.0079;   // to add 128 bytes of a row of X to a sum
  double node_line_ns = 0.5;      // to read 128 bytes of a row of X from memory, as often as it is evicted
  double attention = 3;           // the time of attention, in times of a sum of its columns
  double copy_bytes = 2.5e9;      // read and written a millisecond, to arrange rows; read, of edge weights
  double exchange_bytes = 275e6;  // a rank receives in a millisecond from GPUs of its host
  double network_bytes = 45e6;    // and from other hosts
  double exchange_ms = 0.03;      // for each collective
  int host_gpus = 8;
};

struct AggregationTime {
  double exchange_ms = 0, product_ms = 0;
  double bytes_received = 0;  // by a rank
  double ms() const { return exchange_ms + product_ms; }
};

double row_bytes(const AggregationSizes& sizes, double columns);

/// A product of `edges` edges that reads `read_rows` rows of X, of `bytes` each, from memory.
double product_ms(const AggregationSizes& sizes, double edges, double read_rows, double bytes,
                  const AggregationRates& rates);

/// A rank receives `bytes` in all, equally many from each other rank.
double receive_ms(double bytes, int ranks, const AggregationRates& rates);

/// The rank's rows of the graph times its rows of X and `received` rows of other ranks, which one all-gather
/// or all-to-all brings.
AggregationTime gathered_cost(const AggregationSizes& sizes, double received, const AggregationRates& rates);

}  // namespace rodeo
