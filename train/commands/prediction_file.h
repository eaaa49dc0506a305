/// Files that rodeo_predict writes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor.h"

namespace rodeo {

/// Rows are nodes in the dataset's order, or graphs. All tensors are on the host.
struct Prediction {
  std::string row = "node";  // what a row is, the first column of text files
  Tensor classes;  // i64 [nodes], the most probable class; with several labels per node u8 [nodes, classes],
                   // 1 for a probability above 0.5
  Tensor probability;        // f32 [nodes, classes]
  Tensor logits, embedding;  // f32 [nodes, columns], or undefined
  Tensor value;    // f32 [nodes, targets], of regression; then classes and probability are undefined
  Tensor node_id;  // i64 [nodes], or undefined
  std::vector<std::string> node_names, class_names;  // or empty
  std::vector<std::pair<std::string, std::string>> facts;
  std::optional<std::int64_t> epoch{};
};

class PredictionFile {
 public:
  virtual ~PredictionFile() = default;
  /// Replaces the file atomically. To be called once.
  virtual void write(const Prediction& prediction) = 0;
};

/// The format is that of the suffix:
///   .h5 .hdf5  arrays class and probability, value, logits, embedding, node_id and node_names, those that
///   are
///              defined; facts, epoch and class_names as attributes
///   .csv .tsv  a header and a line for each node: node (its name, else its original id, else its number),
///              class, name (of the class, if there are names) and, with `probabilities`, probability_0, ...,
///              then logit_0, ... and embedding_0, ... Several classes of a node are separated by semicolons.
///              Of regression: node and the value of each target, whose names are class_names, else value_0,
///              ...
/// Throws Error for another suffix and for a file that cannot be made.
std::unique_ptr<PredictionFile> open_prediction(const std::string& path, bool probabilities);

}  // namespace rodeo
