/// The choices of the tuners of spmm and sddmm, kept across graph objects and across runs.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ops/sddmm_choice.h"
#include "ops/spmm_choice.h"

namespace rodeo {

/// One text file for each graph and operator, and its contents in memory. Files that cannot be read or
/// written and lines that cannot be parsed are ignored: the cache never throws.
template <class Problem, class Algorithm>
class TuningCache {
 public:
  /// Files are written to `folder`, which is created with the first file; empty: memory only.
  explicit TuningCache(std::string folder) : folder_(std::move(folder)) {}
  /// The cache of the process, in cache_folder() at the time of the first call.
  static TuningCache& of_process();

  struct Key {
    std::uint64_t graph;  // graph_hash()
    std::string device;   // describe(device)
    Problem problem;
  };
  struct Entry {
    Algorithm algorithm;
    std::vector<KernelCandidate<Algorithm>> candidates = {};  // those that were timed
  };
  std::optional<Entry> find(const Key& key);
  /// Stores `entry` and returns it; where another process stored one first, returns that one. Entries of
  /// other versions of the library are not found.
  Entry keep(const Key& key, const Entry& entry);

  /// The path of the graph's file; empty for a cache in memory.
  std::string file(std::uint64_t graph) const;
  /// Why the last keep() could not write its file, as one phrase; empty if it could.
  std::string complaint() const;

 private:
  using Entries = std::map<std::string, Entry>;  // by the text of a key
  void read(std::uint64_t graph);
  std::string write(std::uint64_t graph) const;

  std::string folder_, complaint_;
  std::map<std::uint64_t, Entries> graphs_;
  mutable std::mutex mutex_;
};

using SpmmTuningCache = TuningCache<SpmmProblem, SpmmAlgorithm>;
using SddmmTuningCache = TuningCache<SddmmProblem, SddmmAlgorithm>;

}  // namespace rodeo
