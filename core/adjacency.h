/// One graph: its CSR matrix and everything that is derived from it once and kept.
#pragma once

#include <any>
#include <cstdint>
#include <memory>
#include <typeindex>
#include <unordered_map>
#include <utility>

#include "core/tensor.h"

namespace rodeo {

/// A sparse matrix pattern in compressed sparse row form. Row i holds the edges row_ptr[i] .. row_ptr[i+1]-1.
/// Columns within a row may come in any order and more than once.
struct Csr {
  std::int64_t rows = 0;
  std::int64_t cols = 0;  // at most 2^31 - 1
  Tensor row_ptr;         // i64 [rows + 1]
  Tensor col;             // i32 [edges]
};

/// A cheap shared handle. Edge weights are not part of it: they are tensors [edges, ...] in its edge order,
/// and a graph without any has implicit weights of one.
class Adjacency {
 public:
  Adjacency() = default;  // undefined
  /// Throws Error unless shapes, dtypes and devices are those of Csr, row_ptr rises from 0 to the number of
  /// edges, and every column is in [0, cols).
  explicit Adjacency(Csr csr);
  /// The same without looking at the values: for CSRs that the library itself has built.
  static Adjacency trusted(Csr csr);

  bool defined() const { return state_ != nullptr; }
  const Csr& csr() const;
  std::int64_t rows() const { return csr().rows; }
  std::int64_t cols() const { return csr().cols; }
  std::int64_t num_edges() const { return csr().col.numel(); }
  Device device() const { return csr().col.device(); }
  /// A copy on another device (itself when it is there already), with nothing derived yet.
  Adjacency to(Device device) const;
  bool operator==(const Adjacency& other) const { return state_ == other.state_; }

  /// The value of type T that belongs to this graph: made by make() on first use, kept as long as the graph
  /// is. Plans, transposes and the choices of a tuner live here. Not to be called from two threads at once.
  template <class T, class Make>
  const T& cached(Make&& make) const {
    auto& slot = cache()[std::type_index(typeid(T))];
    if (!slot.has_value()) slot = std::make_shared<const T>(std::forward<Make>(make)());
    return *std::any_cast<const std::shared_ptr<const T>&>(slot);
  }

 private:
  using Cache = std::unordered_map<std::type_index, std::any>;
  struct State;
  Cache& cache() const;
  std::shared_ptr<State> state_;
};

}  // namespace rodeo
