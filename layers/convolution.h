/// The interface that graph layers share, so that a model is written once for all of them.
#pragma once

#include <memory>
#include <string_view>

#include "core/adjacency.h"
#include "core/random.h"
#include "layers/module.h"
#include "ops/attention.h"
#include "ops/epilogue_types.h"
#include "ops/features.h"
#include "ops/gcn_norm.h"
#include "ops/spmm.h"

namespace rodeo {

/// What one convolution reads of a graph, in one of three forms. Destinations are rows, sources are columns.
///   - a whole graph or a batch of graphs: each node is both, in one order
///   - a block of a mini-batch (is_block): the first sources are the destinations, edges may be sampled
///   - selected rows of a whole graph (select_destinations): the destinations are some of the sources
struct ConvGraph {
  ConvGraph() = default;
  /// A whole graph. Layers that read a normalised graph need the GcnGraph.
  ConvGraph(Adjacency graph, Variable edge_features = {});        // NOLINT: implicit on purpose
  ConvGraph(const GcnGraph& graph, Variable edge_features = {});  // NOLINT
  /// A block. Layers that do not read a normalised graph read block.adj alone.
  ConvGraph(const GcnBlock& block, Variable edge_features = {});  // NOLINT

  bool is_whole() const { return !is_block && !selected.defined(); }

  Adjacency adj;                // [destinations, sources]
  Tensor weight;                // [edges] of a normalised graph; undefined: ones
  Tensor row_scale, col_scale;  // [destinations], [sources]: D^-1/2 of a normalised graph, else undefined
  Variable edge_attr;           // [edges, edge features]; undefined: none
  bool is_block = false;
  Adjacency selected;  // [destinations, sources], one edge a row: its own source. Of selected rows only
  std::shared_ptr<const ConvGraph> whole;  // the graph whose rows were selected
};

/// Rows of a whole graph, with their weights, scales and edge features.   rows i64 [k], in any order, as
/// select_rows (ops/select_rows.h) takes them, also of a sharded graph. Waits for the device.
ConvGraph select_destinations(const ConvGraph& whole, const Tensor& rows);

/// The rows of x [sources, n] that belong to the destinations: [destinations, n]; x itself on a whole graph.
/// Throws Error for sparse x, except on a whole graph.
Features destinations(const ConvGraph& graph, const Features& x);

/// D^-1/2 (A + I) D^-1/2 X, on each form.   x [sources, n] -> [destinations, n]
Variable propagate(const ConvGraph& graph, const Variable& x, const SpmmOptions& options = {});

/// How a model calls a convolution.
struct ConvCall {
  EpilogueOptions then = {};  // applied to the result, in the same pass where a kernel supports it
  RandomKey key = {};         // of the layer's own masks, of attention for instance
  SpmmOptions spmm = {};
  Variable initial = {};  // [sources, in], with ConvTraits::initial: the input of the model's first layer
  // Layers with ConvTraits::scaled_inputs only.
  bool is_scaled = false;    // x was multiplied by col_scale already
  bool keeps_input = false;  // a dense x without gradient is constant: what depends on it alone is kept
};

/// The graph that a layer reads.
enum class GraphInput {
  kNoEdges,    // nodes alone
  kPlain,      // as in the dataset, without edge weights
  kSelfLoops,  // with a self loop for each node, without edge weights
  kGcnNorm,    // with self loops, edge weights and the scales D^-1/2 (ops/gcn_norm.h)
};

/// What a model and its options must know of a kind of convolution before it makes one.
struct ConvTraits {
  GraphInput graph = GraphInput::kPlain;
  bool heads = false;           // attention: reads ConvOptions::heads to spmm, not ConvCall::spmm
  bool attention_form = false;  // reads ConvOptions::form
  bool dot_scores = false;      // attention: scores are dot products of rows (SDDMM), else sums
  bool random = false;          // draws masks by ConvCall::key
  bool edge_features = false;   // reads ConvGraph::edge_attr where ConvOptions::edge_in > 0
  bool aggr = false;            // reads ConvOptions::aggr
  bool train_eps = false;       // reads ConvOptions::train_eps
  bool batch_norm = false;      // normalises over nodes, and has biases without ConvOptions::bias
  bool scaled_inputs = false;   // ConvCall::is_scaled and keeps_input
  bool hops = false;            // reads ConvOptions::hops: propagates several times, so a model has one of it
  bool teleport = false;        // reads ConvOptions::alpha and edge_dropout
  bool initial = false;         // reads ConvCall::initial, ConvOptions::alpha, lambda and layer; out is in
  bool degrees = false;         // reads ConvOptions::log_degree
  bool has_parameters = true;   // false: the width of its output is that of its input
  bool sparse_inputs = true;    // false: x must be dense
  /// Whether a training layer [in, out] sums a constant x before it multiplies it by weights. Over ranks, it
  /// then exchanges nothing where x has the rows of all ranks (Features). Null: never.
  bool (*sums_first)(std::int64_t in, std::int64_t out) = nullptr;

  /// Whether models of it have layers before the last.
  bool hidden_layers() const { return !hops || !has_parameters; }
  /// Whether it keeps what it propagates of a dense x that is constant.
  bool keeps_propagated() const { return hops && has_parameters; }
};

/// Options of all kinds of convolutions. Each reads those that it has.
struct ConvOptions {
  std::int64_t in = 0;
  std::int64_t out = 0;      // with heads, of one head
  std::int64_t edge_in = 0;  // columns of edge features; 0: none
  bool is_output = false;    // returns logits: out_heads are averaged; heads are concatenated otherwise
  bool bias = true;
  std::int64_t heads = 8, out_heads = 1;
  double attention_dropout = 0.6;
  double negative_slope = 0.2;
  AttentionForm form = AttentionForm::kAuto;
  SddmmOptions sddmm = {};
  SpmmAlgorithm spmm = SpmmAlgorithm::kAuto;  // of composed attention; others read ConvCall::spmm
  Reduce aggr = Reduce::kMean;                // of SAGE
  bool train_eps = false;                     // of GIN
  std::int64_t hidden = 0;                    // width of GIN's network; 0: out
  bool ends_with_relu = false;                // of GIN's network
  int hops = 2;                               // of SGC and APPNP
  double alpha = 0.1, edge_dropout = 0;       // of APPNP; alpha of GCNII, too
  double lambda = 0.5;                        // of GCNII
  int layer = 1;                              // of GCNII: its number in the model, from 1
  double log_degree = 1;                      // of PNA
};

/// A graph layer as models call it. Layers also have forward functions of their own form.
class Convolution : public Module {
 public:
  /// x [sources, in] -> [destinations, width()], on each form of a ConvGraph. Frees x after its last use
  /// where it is moved in. Throws Error for other shapes.
  virtual Variable convolve(const ConvGraph& graph, Features x, const ConvCall& call) const = 0;
  /// Number of columns of the result; 0: that of its input, or of the caller's network.
  virtual std::int64_t width() const = 0;
  /// Whether blocks of `whole` may have rows and edges behind their own (datasets/padded_batch.h).
  virtual bool can_be_padded(const ConvGraph& whole, const SpmmOptions& spmm) const;
};

/// A kind of convolution, as a row of a table: kGcn in layers/gcn_conv.h, for instance.
struct ConvKind {
  std::string_view name;  // "gcn"
  ConvTraits traits;
  std::unique_ptr<Convolution> (*make)(const ConvOptions& options, Random& random, Device device,
                                       DType dtype);
};

/// Whether sums or means over the edges of blocks run without a plan, which blocks may be padded for.
bool sums_without_plan(Reduce reduce, const SpmmOptions& spmm);
/// epilogue(x, then); x itself where `then` does nothing.
Variable apply(Variable x, const EpilogueOptions& then);

}  // namespace rodeo
