#include "ops/sparse/simulated_step.h"

#include "ops/sparse/aggregation_forms.h"

namespace rodeo {

SimulatedStep simulate_step(const StepTimes& one_gpu, const std::vector<AggregationSizes>& products,
                            std::int64_t parameters, int ranks, const AggregationRates& rates) {
  SimulatedStep out;
  double one_ms = 0, all_ms = 0, dropout_ms = 0;
  for (AggregationSizes product : products) {
    product.ranks = 1;
    one_ms += predict_aggregation(Aggregation::kRows, product, rates).product_ms;
    product.ranks = ranks;
    const AggregationTime time = predict_aggregation(Aggregation::kAuto, product, rates);
    all_ms += time.product_ms;
    out.exchange_ms += time.exchange_ms;
    out.bytes_received += time.bytes_received;
    if (product.x_on_all_ranks) {
      const double of_others = static_cast<double>(product.nodes) * (ranks - 1) / ranks;
      dropout_ms += of_others * row_bytes(product, static_cast<double>(product.columns)) / rates.copy_bytes;
    }
  }
  if (ranks > 1) {  // each rank sums its part of the gradients, and the parts are gathered
    const double bytes = 2.0 * 4 * static_cast<double>(parameters) * (ranks - 1) / ranks;
    out.exchange_ms += receive_ms(bytes, ranks, rates);
    out.bytes_received += bytes;
  }
  const double fraction = 1.0 / ranks;
  out.parts.sparse_ms = one_ms > 0 ? one_gpu.sparse_ms * all_ms / one_ms : one_gpu.sparse_ms * fraction;
  out.parts.gemm_ms = one_gpu.gemm_ms * fraction;
  out.parts.other_ms = one_gpu.other_ms * fraction + dropout_ms;
  return out;
}

}  // namespace rodeo
