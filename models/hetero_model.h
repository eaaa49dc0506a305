/// Models of heterogeneous graphs: R-GCN, GraphSAGE by relation, R-GAT and HGT.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "layers/hetero_conv.h"
#include "layers/linear.h"
#include "layers/norm.h"
#include "models/trunk.h"
#include "ops/row_reads.h"

namespace rodeo {

/// "rgcn", "hetero-sage", "rgat", "hgt". Throws Error that lists them.
const HeteroConvKind& find_hetero_conv(std::string_view name);
std::vector<std::string_view> hetero_conv_names();

struct HeteroModelOptions {
  const HeteroConvKind* conv = nullptr;
  std::vector<std::int64_t> in;  // columns of the features of each type; 0: trainable rows instead
  int target = 0;                // the type that is predicted; -1: all
  std::int64_t hidden = 64;      // columns between layers, of all heads
  std::int64_t classes = 0;      // columns of the result
  int layers = 2;
  double dropout = 0.5;               // of the output of each layer
  TrunkNorm norm = TrunkNorm::kNone;  // of each layer's output, before its activation; kBatch: by type
  // Each type is projected first. Without, the first layer reads the features of all types, of one width.
  bool project = true;
  HeteroConvOptions layer = {};  // heads, bases, blocks and the like; sizes are set by the model
};

/// Nodes of one type: features, or for a type without features the positions of a block's nodes among all. Of
/// a shard (HeteroGraph::shard) the nodes are the rank's.
struct HeteroInput {
  Features x = {};    // [nodes of the type, in]; undefined for a type with trainable rows
  Tensor nodes = {};  // i64 [nodes of the type]; undefined: all nodes of the type in their order
};

/// Each type is projected to `hidden` columns (a linear layer and ReLU, or trainable rows), unless `project`
/// is off; layers with norm, ReLU and dropout after each; a linear layer for the target type. The last layer
/// computes the target type alone; without one, all nodes, sorted by type. Parameters: lins.<type
/// name>.{weight, bias} or embeddings.<type name>, convs.<i>.*, norms.<i>.*, lin.{weight, bias}.
class HeteroModel : public Module {
 public:
  /// `graph` gives the types, the relations and the numbers of nodes with trainable rows; the model is called
  /// with graphs of equal types and relations. `random` draws the initial weights; a copy of it draws the
  /// masks. Throws Error for sizes below 1, a dropout outside [0, 1), and features of other widths, or none,
  /// where nothing is projected.
  HeteroModel(const HeteroModelOptions& options, const HeteroGraph& graph, Random random,
              Device device = kCpu, DType dtype = DType::kF32);

  /// inputs: one a type, in the order of the graph's types; without projections one alone, whose x has the
  /// nodes of all types [nodes, in] -> [nodes of the target type, classes]. Features
  /// have one dtype, which is that of all layers: 16-bit features beside f32 parameters are mixed precision.
  /// Of a shard the result is of the rank's nodes of the target type, and of all nodes where there is none.
  Variable forward(const HeteroGraph& graph, const std::vector<HeteroInput>& inputs);
  /// What the last linear layer reads: [nodes of the target type, hidden]
  Variable embed(const HeteroGraph& graph, const std::vector<HeteroInput>& inputs);
  /// Over the blocks of a mini-batch, one a layer: the destinations of a block are the nodes of the next one,
  /// those of the last are of the target type alone -> [destinations of the last block, classes]
  Variable forward(const std::vector<HeteroGraph>& blocks, const std::vector<HeteroInput>& inputs);

  const HeteroModelOptions& options() const { return options_; }

  /// From now on blocks leave the gradients of trainable rows by row, and not in the parameters: in these,
  /// for ParameterGroup::reads.   parameter: "embeddings.<type name>"; null for others
  std::shared_ptr<RowReads> read_by_row(const std::string& parameter);

 private:
  struct Type {
    std::unique_ptr<Linear> linear;  // null with trainable rows
    Variable rows;                   // [nodes, hidden]
    std::string rows_name;
    std::shared_ptr<RowReads> reads;  // of rows; null unless read_by_row() was called
  };
  struct Layer {
    std::unique_ptr<HeteroConvolution> conv;
    std::unique_ptr<LayerNorm> layer_norm;               // or
    std::vector<std::unique_ptr<BatchNorm>> batch_norm;  // one a type, or none
  };

  Variable project(const HeteroGraph& graph, const std::vector<HeteroInput>& inputs) const;
  /// only: the one type that h has nodes of; -1: all
  Variable normalize(const Layer& layer, const HeteroGraph& graph, const Variable& h, int only) const;
  /// The output of the last layer. graph_of(i): the graph or block of layer i.
  template <class GraphOf>
  Variable run(const GraphOf& graph_of, const std::vector<HeteroInput>& inputs);
  Variable classify(const Variable& h) const;

  HeteroModelOptions options_;
  Random random_;
  std::vector<Type> types_;
  std::vector<Layer> layers_;
  std::unique_ptr<Linear> head_;  // "lin"
};

}  // namespace rodeo
