/// The loss and the metrics of a training run.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/adjacency.h"
#include "core/variable.h"
#include "datasets/split.h"

namespace rodeo {

/// Which examples (nodes, graphs or edges) the predictions of a step are of.
struct Examples {
  /// i64 [k], on the device of the predictions: row i is of example ids[i], and rows from k on are padding.
  /// Undefined: row i is of example i, of all examples, and the loss is over the training set.
  Tensor ids = {};
  /// Copy of `ids` on the host. A step that is captured reads none of them (Criterion::is_fixed).
  std::vector<std::int64_t> host = {};
};

/// A loss and metrics from predictions and the examples that they are of. It knows nothing of the forward
/// pass, of ranks, and of where examples come from.
///
/// Examples are numbered from 0, and divided into a training, a validation and a test set. All functions may
/// run inside a CUDA graph unless is_fixed() is false: they launch the same kernels for as many examples, and
/// wait for nothing. Deterministic.
class Criterion {
 public:
  virtual ~Criterion() = default;

  /// The mean loss over the examples, or over the training set: [], f32, or f64 for f64 predictions.
  virtual Variable loss(const Variable& predictions, const Examples& examples) const = 0;
  /// How many terms the mean of loss() is over: a batch or a rank weighs by it in sums over several. Sums of
  /// class weights, or numbers of known targets, where not every example counts as one.
  virtual double terms(std::span<const std::int64_t> examples) const {
    return static_cast<double>(examples.size());
  }
  /// terms() of the training set.
  virtual double training_terms() const { return terms(sets().train.to_vector<std::int64_t>()); }
  /// Metric (more is better) and loss of the training, validation and test set: f64 [3, 2]; zeros for an
  /// empty set.   predictions: of all examples
  virtual Tensor metrics(const Tensor& predictions) const = 0;
  /// What metrics() holds: "accuracy".
  virtual std::string metric_name() const = 0;
  /// All metrics of the test set at the last metrics(), by name; empty where there is one alone.
  virtual std::vector<std::pair<std::string, double>> details() const { return {}; }

  /// The examples of each set, on the device of the predictions.
  virtual const Split& sets() const = 0;
  /// Whether the metrics of a set are the means of those of its parts, weighted by their examples. Ranks that
  /// have some examples each then add up sums; else each needs the predictions of all.
  virtual bool metrics_are_means() const { return false; }
  /// Whether losses of as many examples launch the same kernels with the same arguments, so that a captured
  /// step serves all of them.
  virtual bool is_fixed() const { return true; }
};

/// The predictions that a loss over rows reads: those of examples.ids, or of the training set. [k, columns]
class ExampleRows {
 public:
  /// training: i64 [k], Criterion::sets().train.
  explicit ExampleRows(Tensor training) : training_(std::move(training)) {}
  Variable operator()(const Variable& predictions, const Examples& examples) const;

 private:
  Tensor training_;
  mutable Adjacency
      selection_;  // row i reads row training_[i]: unlike gather_rows, a CUDA graph can record it
};

/// A loss of 0 that does not depend on x, any shape: [], f32, or f64 for f64. Its gradient, zeros, takes part
/// in the exchange of other ranks.
Variable no_loss(const Variable& x);

/// 0, 1, 2, ...: i64, on one device. Shorter arrays stay in memory when a longer one is made, because
/// captured CUDA graphs read them.
class RowNumbers {
 public:
  explicit RowNumbers(Device device) : device_(device) {}
  Tensor operator()(std::int64_t count) const;

 private:
  Device device_;
  mutable std::vector<Tensor> made_;
};

}  // namespace rodeo
