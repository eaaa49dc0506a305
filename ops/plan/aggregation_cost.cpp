#include "ops/plan/aggregation_cost.h"

#include <algorithm>

namespace rodeo {
namespace {

constexpr double kNsInMs = 1e6;
constexpr std::int64_t kLineBytes = 128;

/// A row of X of less than a line costs nearly a line.
double lines(double bytes) {
  return std::max(0.7, bytes / kLineBytes);
}

}  // namespace

double row_bytes(const AggregationSizes& sizes, double columns) {
  return columns * static_cast<double>(sizes.element_bytes);
}

double product_ms(const AggregationSizes& sizes, double edges, double read_rows, double bytes,
                  const AggregationRates& rates) {
  const double factor = sizes.heads > 0 ? rates.attention : 1;
  return factor * lines(bytes) * (edges * rates.edge_line_ns + read_rows * rates.node_line_ns) / kNsInMs +
         edges * static_cast<double>(sizes.weight_bytes) / rates.copy_bytes;
}

double receive_ms(double bytes, int ranks, const AggregationRates& rates) {
  if (ranks == 1) return 0;
  const double near = std::min(ranks, rates.host_gpus) - 1, others = ranks - 1;
  return rates.exchange_ms + bytes * near / others / rates.exchange_bytes +
         bytes * (others - near) / others / rates.network_bytes;
}

AggregationTime gathered_cost(const AggregationSizes& sizes, double received, const AggregationRates& rates) {
  const double p = sizes.ranks, local = static_cast<double>(sizes.nodes) / p;
  const double row = row_bytes(sizes, static_cast<double>(sizes.columns));
  AggregationTime out;
  // A row is read anew where it was evicted. The rank's edges read few rows of other ranks so often.
  const double read = local + received / 4;
  out.product_ms =
      sizes.imbalance * product_ms(sizes, static_cast<double>(sizes.edges) / p, read, row, rates);
  if (sizes.x_on_all_ranks) return out;
  // A score for each head of attention travels with a row.
  out.bytes_received = received * (row + row_bytes(sizes, static_cast<double>(sizes.heads)));
  out.exchange_ms = receive_ms(out.bytes_received, sizes.ranks, rates);
  return out;
}

}  // namespace rodeo
