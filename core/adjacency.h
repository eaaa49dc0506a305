/// A graph: its CSR matrix and a cache of values derived from it.
#pragma once

#include <any>
#include <cstdint>
#include <memory>
#include <mutex>
#include <typeindex>
#include <unordered_map>
#include <utility>

#include "core/tensor.h"

namespace rodeo {

/// A sparse matrix pattern in compressed sparse row form. Row i holds the edges row_ptr[i] .. row_ptr[i+1]-1.
/// Columns within a row may be unsorted and may repeat.
struct Csr {
  std::int64_t rows = 0;
  std::int64_t cols = 0;  // at most 2^31 - 1
  Tensor row_ptr;         // i64 [rows + 1]
  Tensor col;             // i32 [edges]
};

class NodePartition;
struct ShardedRows;

/// A shared handle to one graph. Edge weights are not part of it: they are tensors [edges, ...] in its edge
/// order. Without edge weights, every weight is one.
///
/// Sharded over ranks (core/node_partition.h), it is one rank's shard of a square graph: the rows of the
/// rank's nodes, with their edges from the nodes of all ranks. rows() and cols() are then the rank's nodes,
/// because operators take and return the rank's rows: they exchange the others. Those that cannot throw
/// Error. With selected rows of them (select_rows), rows() is their number.
class Adjacency {
 public:
  Adjacency() = default;  // undefined
  /// Throws Error unless shapes, dtypes and devices are as stated in Csr, row_ptr is non-decreasing from 0 to
  /// the number of edges, and every column is in [0, cols).
  explicit Adjacency(Csr csr);
  /// Takes a CSR matrix without checking its values: for those that the library built.
  static Adjacency trusted(Csr csr);

  /// The shard of one rank, without checking the values.   rows [nodes of the rank, all nodes]
  /// `symmetric`: the whole graph has the reverse of each edge, as often as the edge; equal on all ranks.
  /// False for selected rows: [any number, all nodes].
  static Adjacency sharded(Csr rows, std::shared_ptr<const NodePartition> nodes, bool symmetric);

  bool defined() const { return state_ != nullptr; }
  /// Throws Error for a graph that is sharded over ranks: shard()->rows has the CSR of the rank.
  const Csr& csr() const;
  std::int64_t rows() const { return form().rows; }
  std::int64_t cols() const;
  std::int64_t num_edges() const { return form().col.numel(); }
  Device device() const { return form().col.device(); }
  bool is_sharded() const;
  /// Null unless sharded.
  const ShardedRows* shard() const;
  /// A copy on another device with an empty cache; the same graph if it is there already.
  Adjacency to(Device device) const;
  bool operator==(const Adjacency& other) const { return state_ == other.state_; }

  /// The cached value of type T (plans, transposes, choices), made by make() on first use and kept with the
  /// graph. On the CPU several threads may call it at once: one makes it, the others wait. On CUDA one at a
  /// time: its stream waits for that of the thread before, and freeing memory waits for all of them.
  template <class T, class Make>
  const T& cached(Make&& make) const {
    const CacheLock lock = lock_cache();
    auto& slot = cache()[std::type_index(typeid(T))];
    if (!slot.has_value()) slot = std::make_shared<const T>(std::forward<Make>(make)());
    return *std::any_cast<const std::shared_ptr<const T>&>(slot);
  }

  /// Whether cached<T>() has a value already.
  template <class T>
  bool has_cached() const {
    const CacheLock lock = lock_cache();
    return cache().contains(std::type_index(typeid(T)));
  }
  /// The number of cached values.
  std::size_t num_cached() const {
    const CacheLock lock = lock_cache();
    return cache().size();
  }

  using CacheLock = std::unique_lock<std::recursive_mutex>;
  /// Locks the cache for this thread. For cached values that change after they were made, such as a map of
  /// plans: hold it while such a value is read or changed. make() may use the cache.
  CacheLock lock_cache() const;

 private:
  using Cache = std::unordered_map<std::type_index, std::any>;
  struct State;
  const Csr& form() const;
  Cache& cache() const;
  std::shared_ptr<State> state_;
};

/// What a sharded Adjacency holds.
struct ShardedRows {
  std::shared_ptr<const NodePartition> nodes;
  Adjacency rows;  // [nodes of the rank, all nodes], for products with the gathered rows of all ranks
  bool symmetric = false;
};

}  // namespace rodeo
