/// The interface that layers of heterogeneous graphs share.
#pragma once

#include <memory>
#include <string_view>

#include "core/random.h"
#include "layers/module.h"
#include "ops/hetero_graph.h"
#include "ops/relational.h"

namespace rodeo {

/// Options of all kinds of layers. Each reads those that it has.
struct HeteroConvOptions {
  int types = 0;      // of nodes
  int relations = 0;  // of the graphs that it is called with
  std::int64_t in = 0;
  std::int64_t out = 0;     // columns of the result; a multiple of heads
  std::int64_t heads = 1;   // of attention
  std::int64_t bases = 0;   // of RgcnConv: weights are combinations of this many; 0: one a relation
  std::int64_t blocks = 0;  // of RgcnConv: on the diagonal of each weight; 0: a full matrix
  bool root_weight = true;  // adds x W of the destination itself
  bool bias = true;
  double attention_dropout = 0;  // in training mode
  double negative_slope = 0.2;   // of RgatConv
  RelationalOptions relational = {};
};

/// A layer of a heterogeneous graph. x has the nodes of all types, sorted as in HeteroGraph; a type without
/// features of its own is projected or embedded first (models/hetero_model.h).
class HeteroConvolution : public Module {
 public:
  /// x [nodes, in] -> [destinations, out], on a whole graph or a block. `key` draws the mask of attention
  /// dropout. Throws Error for other shapes and for other numbers of types and relations.
  virtual Variable forward(const HeteroGraph& graph, const Variable& x, RandomKey key) const = 0;

 protected:
  /// `name` begins error texts and must outlive the layer.
  HeteroConvolution(const char* name, const HeteroConvOptions& options);
  void check_inputs(const HeteroGraph& graph, const Variable& x) const;
  /// Uniform, as Glorot & Bengio for the last two dimensions.
  static Tensor glorot(const Shape& shape, Random& random, Device device, DType dtype);

  const char* name_;
  HeteroConvOptions options_;
};

/// A kind of layer, as a row of a table: kRgcn in layers/rgcn_conv.h, for instance.
struct HeteroConvKind {
  std::string_view name;  // "rgcn"
  bool heads;             // attention: reads heads and attention_dropout
  bool decomposes;        // reads bases and blocks
  std::unique_ptr<HeteroConvolution> (*make)(const HeteroConvOptions& options, Random& random, Device device,
                                             DType dtype);
};

/// The rows of x [nodes, n] that belong to destinations: [destinations, n]; x itself on a whole graph.
Variable destinations(const HeteroGraph& graph, const Variable& x);

}  // namespace rodeo
