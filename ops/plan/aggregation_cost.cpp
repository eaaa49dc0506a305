#include "ops/plan/aggregation_cost.h"

#include <algorithm>
#include <cmath>

namespace rodeo {
namespace {

constexpr double kNsInMs = 1e6;

double row_bytes(const AggregationSizes& sizes, double columns) {
  return columns * static_cast<double>(sizes.element_bytes);
}

/// A row of X of less than a line costs nearly a line.
double lines(double bytes) {
  return std::max(0.7, bytes / 128);
}

double sum_ms(const AggregationSizes& sizes, double edges, double read_rows, double bytes_of_row,
              const AggregationRates& rates) {
  const double factor = sizes.heads > 0 ? rates.attention : 1;
  return factor * lines(bytes_of_row) * (edges * rates.edge_line_ns + read_rows * rates.node_line_ns) /
             kNsInMs +
         edges * static_cast<double>(sizes.weight_bytes) / rates.copy_bytes;
}

/// To receive `bytes` in all from the other ranks, equally many from each.
double receive_ms(double bytes, int ranks, const AggregationRates& rates) {
  if (ranks == 1) return 0;
  const double near = std::min(ranks, rates.host_gpus) - 1, others = ranks - 1;
  return rates.exchange_ms + bytes * near / others / rates.exchange_bytes +
         bytes * (others - near) / others / rates.network_bytes;
}

/// The columns of a rank: whole heads, or whole loads of 16 bytes.
double columns_of_rank(const AggregationSizes& sizes) {
  if (sizes.heads > 0) {
    const double width = static_cast<double>(sizes.columns) / static_cast<double>(sizes.heads);
    return std::ceil(static_cast<double>(sizes.heads) / sizes.ranks) * width;
  }
  const auto load = static_cast<double>(std::max<std::size_t>(1, 16 / sizes.element_bytes));
  return std::ceil(static_cast<double>(sizes.columns) / sizes.ranks / load) * load;
}

}  // namespace

std::int64_t columns_of_part(std::int64_t n, std::size_t element_bytes) {
  constexpr std::int64_t kMost = 4;
  const auto line = static_cast<std::int64_t>(128 / element_bytes);
  const std::int64_t share = (n + kMost - 1) / kMost;
  return std::max<std::int64_t>(1, (share + line - 1) / line) * line;
}

int sum_parts(std::int64_t n, std::size_t element_bytes) {
  const std::int64_t width = columns_of_part(n, element_bytes);
  return static_cast<int>(std::max<std::int64_t>(1, (n + width - 1) / width));
}

AggregationTime predict_aggregation(Aggregation form, const AggregationSizes& sizes,
                                    const AggregationRates& rates) {
  const auto nodes = static_cast<double>(sizes.nodes), edges = static_cast<double>(sizes.edges);
  const double p = sizes.ranks, own = nodes / p, others = nodes - own;
  const double row = row_bytes(sizes, static_cast<double>(sizes.columns));
  AggregationTime out;
  switch (form) {
    case Aggregation::kAuto:
      return predict_aggregation(predict_form(sizes, true, rates), sizes, rates);
    case Aggregation::kRows:
    case Aggregation::kHalo: {
      const bool halo = form == Aggregation::kHalo;
      const double received = halo ? others * sizes.halo_share : others;
      // A row of X is read by the rows of a rank that are near each other: fewer of them share a reading.
      out.sum_ms = sizes.imbalance * sum_ms(sizes, edges / p, (own + received + nodes / p) / 2, row, rates);
      // Of attention, a number for each head travels with a row.
      out.bytes_received = received * (row + row_bytes(sizes, static_cast<double>(sizes.heads)));
      out.exchange_ms = receive_ms(out.bytes_received, sizes.ranks, rates);
      // Sent rows are packed, received ones are put in their places, and so are the rank's own.
      if (halo && sizes.ranks > 1)
        out.exchange_ms += rates.exchange_ms + 2 * (2 * received + own) * row / rates.copy_bytes;
      return out;
    }
    case Aggregation::kOverlap: {
      out = predict_aggregation(Aggregation::kRows, sizes, rates);
      if (sizes.ranks == 1) return out;
      // The exchange takes some multiprocessors from the product of the own columns. The sums of both
      // products are written, read and added.
      constexpr double kTaken = 0.15;
      if (sizes.parts > 1) {  // all but the first part arrive meanwhile. Own rows are cut, results joined
        out.sum_ms +=
            (sizes.parts - 1) * edges / p * static_cast<double>(sizes.weight_bytes) / rates.copy_bytes;
        const double first = out.exchange_ms / sizes.parts, rest = 1 - 1.0 / sizes.parts;
        const double shown = std::max(kTaken * out.exchange_ms, out.exchange_ms - out.sum_ms);
        out.exchange_ms =
            first + rest * shown + (sizes.parts - 1) * rates.exchange_ms + 4 * own * row / rates.copy_bytes;
        return out;
      }
      out.exchange_ms = std::max(kTaken * out.exchange_ms, out.exchange_ms - out.sum_ms / p);
      out.sum_ms += 4 * own * row / rates.copy_bytes;
      return out;
    }
    case Aggregation::kColumns: {
      const double slice = row_bytes(sizes, columns_of_rank(sizes));
      out.sum_ms = sum_ms(sizes, edges, nodes, slice, rates);
      out.bytes_received = others * slice + own * slice * (p - 1);
      out.exchange_ms = 2 * receive_ms(out.bytes_received / 2, sizes.ranks, rates);
      if (sizes.ranks > 1) out.exchange_ms += rates.exchange_ms + 4 * own * row / rates.copy_bytes;
      return out;
    }
  }
  return out;
}

Aggregation predict_form(const AggregationSizes& sizes, bool by_columns, const AggregationRates& rates) {
  Aggregation best = Aggregation::kRows;
  for (const Aggregation form : {Aggregation::kOverlap, Aggregation::kHalo, Aggregation::kColumns}) {
    if (form != Aggregation::kHalo && !by_columns) continue;
    if (form == Aggregation::kOverlap && sizes.heads > 0 && sizes.parts < 2) continue;
    if (predict_aggregation(form, sizes, rates).ms() < predict_aggregation(best, sizes, rates).ms())
      best = form;
  }
  return best;
}

SimulatedStep simulate_step(const StepTimes& one_gpu, const std::vector<AggregationSizes>& products,
                            std::int64_t parameters, int ranks, const AggregationRates& rates) {
  SimulatedStep out;
  double one_ms = 0, all_ms = 0;
  for (AggregationSizes product : products) {
    product.ranks = 1;
    one_ms += predict_aggregation(Aggregation::kRows, product, rates).sum_ms;
    product.ranks = ranks;
    const AggregationTime time = predict_aggregation(Aggregation::kAuto, product, rates);
    all_ms += time.sum_ms;
    out.exchange_ms += time.exchange_ms;
    out.bytes_received += time.bytes_received;
  }
  if (ranks > 1) {  // each rank sums its share of the gradients, and the shares are gathered
    const double bytes = 2.0 * 4 * static_cast<double>(parameters) * (ranks - 1) / ranks;
    out.exchange_ms += receive_ms(bytes, ranks, rates);
    out.bytes_received += bytes;
  }
  const double share = 1.0 / ranks;
  out.parts.sparse_ms = one_ms > 0 ? one_gpu.sparse_ms * all_ms / one_ms : one_gpu.sparse_ms * share;
  out.parts.gemm_ms = one_gpu.gemm_ms * share;
  out.parts.other_ms = one_gpu.other_ms * share;
  return out;
}

}  // namespace rodeo
