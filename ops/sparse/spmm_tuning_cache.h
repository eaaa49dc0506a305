/// What the tuner of spmm has learnt, kept from one graph object to the next and from one run to the next.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ops/spmm_choice.h"

namespace rodeo {

/// One text file for each graph, and its contents in memory. A file that cannot be read or written, or lines
/// of it that make no sense, are as if they were not there: the store never throws and never asks.
class SpmmTuningCache {
 public:
  /// Files go to `folder`, which is made when there is something to write; empty: memory only.
  explicit SpmmTuningCache(std::string folder) : folder_(std::move(folder)) {}
  /// The process's own, in cache_folder() as it is at the first call.
  static SpmmTuningCache& of_process();

  struct Key {
    std::uint64_t graph;  // graph_hash()
    std::string device;   // describe(device)
    SpmmProblem problem;
  };
  struct Entry {
    SpmmAlgorithm algorithm;
    std::vector<SpmmCandidate> candidates = {};  // those that were timed
  };
  std::optional<Entry> find(const Key& key);
  /// Keeps `entry`, unless another process has been faster: then that one's is returned. Choices made by the
  /// same version of the library alone are found again.
  Entry keep(const Key& key, const Entry& entry);

  /// The graph's file; empty where nothing is written.
  std::string file(std::uint64_t graph) const;
  /// Why the last keep() did not reach the disk, as one phrase; empty if it did.
  std::string complaint() const;

 private:
  using Entries = std::map<std::string, Entry>;  // by the text of a key
  void read(std::uint64_t graph);
  std::string write(std::uint64_t graph) const;

  std::string folder_, complaint_;
  std::map<std::uint64_t, Entries> graphs_;
  mutable std::mutex mutex_;
};

}  // namespace rodeo
