/// What an exchange between the ranks costs, measured.
#pragma once

#include <string>

#include "core/communicator.h"
#include "ops/plan/aggregation_cost.h"

namespace rodeo {

/// Rates with the latency and bandwidth of all-gathers between GPUs, or processes, of these ranks: those of
/// two sizes lie on a line. Ranks of several hosts have one bandwidth, that of all others together. A
/// collective call, which takes some milliseconds on GPUs. Rank 0 keeps what the slowest rank measured in the
/// folder `cache` (cache_folder(); empty: nowhere), so that later runs have the same rates.
AggregationRates measured_rates(const Communicator& ranks, Device device, const std::string& cache);

/// The line through two measurements: milliseconds of receiving so many bytes.   few < many
AggregationRates rates_of(double few, double few_ms, double many, double many_ms);

}  // namespace rodeo
