/// The forms that were timed for the products of sharded graphs (ops/aggregation_types.h), kept across runs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "ops/aggregation_types.h"
#include "ops/sparse/cache_lines.h"

namespace rodeo {

/// One file for each sharded graph. It never throws.
class AggregationCache {
 public:
  /// In `folder`, see cache_folder(); empty: nothing is kept.
  explicit AggregationCache(std::string folder) : folder_(std::move(folder)) {}

  struct Key {
    std::uint64_t graph = 0;  // hash of the shards of all ranks, in their order
    std::string product;      // "NVIDIA H200, 4 ranks, sum of 128 columns, f32"
  };
  struct Entry {
    Aggregation form = Aggregation::kRows;
    std::map<Aggregation, double> timed = {};  // ms, of the slowest rank
  };
  /// Entries of other versions of the library are not found.
  std::optional<Entry> find(const Key& key) const;
  /// Returns why the entry could not be kept, as one phrase; empty: it was.
  std::string keep(const Key& key, const Entry& entry) const;

 private:
  CacheLines lines(std::uint64_t graph) const;

  std::string folder_;
};

}  // namespace rodeo
