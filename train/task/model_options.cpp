#include "models/hetero_model.h"
#include "train/task/hetero_task.h"
#include "train/task/option_parts.h"
#include "train/task/trunk_model.h"

namespace rodeo {
namespace {

void add_hidden_layers(OptionGroup model, const ModelEntry& entry) {
  const ConvTraits& traits = entry.conv->traits;
  model.integer(kModel | kShort, "hidden", &TrainOptions::hidden, 1,
                traits.heads ? "Width of each head of the hidden layers" : "Width of the hidden layers");
  model.integer(kModel | kShort, "layers", &TrainOptions::layers, 1, "Number of layers", kMostLayers);
  model.probability(kModel | kShort | kDropout, "dropout", &TrainOptions::dropout,
                    "Dropout probability of each layer's input");
  if (entry.relations) return;
  model
      .add(
          kModel | kNode | kLink | kDropout, "input-dropout",
          traits.scaled_inputs
              ? "Dropout probability of the features (default: --dropout). With 0, dense features are "
                "propagated once instead of in every epoch: exact, because they do not change"
              : "Dropout probability of the features (default: --dropout)",
          "P", [](const TrainOptions& o) { return o.input_dropout.value_or(o.dropout); },
          [](TrainOptions& o, const std::string& text) {
            o.input_dropout =
                parse_option_number<double>("input-dropout", text, "a number in [0, 1)", is_probability);
          })
      .default_text.clear();
}

void add_heads(OptionGroup model, bool relations) {
  model.integer(kModel, "heads", &TrainOptions::heads, 1, "Heads of the hidden layers, concatenated");
  if (!relations)
    model.integer(kModel, "out-heads", &TrainOptions::out_heads, 1,
                  "Heads of the last layer, averaged. The paper uses for PubMed:\n"
                  "--out-heads 8 --weight-decay 1e-3 --lr 0.01");
  model.probability(kModel | kDropout, "attn-dropout", &TrainOptions::attention_dropout,
                    "Dropout probability of the attention weights");
  if (relations) return;
  model.not_negative(kModel, "negative-slope", &TrainOptions::negative_slope,
                     "Negative slope of the LeakyReLU of attention scores");
  model.flag(kModel, "no-self-loops", &TrainOptions::self_loops,
             "Attend to neighbours only, without adding a self loop to each node", false);
}

}  // namespace

void add_model_options(OptionGroup model, const ModelEntry& entry) {
  const ConvTraits& traits = entry.conv->traits;
  model
      .add(
          kModel | kShort | kCommand, "model",
          model_names() + " (required). Each has its own options and defaults", model_names("|"),
          [](const TrainOptions& o) { return o.model; },
          [](TrainOptions& o, const std::string& text) {
            check_option_has_value("model", text);
            o.model = find_model(text).name;
          })
      .default_text.clear();
  if (traits.hidden_layers()) add_hidden_layers(model, entry);
  if (traits.graph != GraphInput::kNoEdges && !entry.relations)
    model.probability(kModel | kDropout, "drop-edge", &TrainOptions::drop_edge,
                      "Probability with which each edge is left out of a training step (DropEdge)");
  model.choice(kModel | kGraph, "pool", &TrainOptions::pool,
               "Readout: how the rows of a graph's nodes become one row");
  if (traits.edge_features)
    model.flag(kModel | kNode | kGraph, "edge-features", &TrainOptions::edge_features,
               traits.heads
                   ? "Read the file's edge features (edge_attr): they join the attention scores"
                   : "Read the file's edge features (edge_attr): GINE, ReLU of a neighbour plus its edge");
  model.integer(kModel | kLink, "embedding", &TrainOptions::embedding, 1,
                "Columns of a node's embedding, which the decoder reads");
  model.choice(
      kModel | kLink, "decoder", &TrainOptions::decoder,
      "Score of a pair of nodes from their embeddings. dot: their dot product; mlp: two layers on "
      "their elementwise product; bilinear: u^T W v; distmult: their elementwise product with weights "
      "of the relation");
  if (entry.relations)
    model.text(kModel | kLink, "relation", &TrainOptions::relation, "NAME",
               "The relation whose edges are predicted, NAME or SOURCE:NAME:TARGET (default: all of the "
               "file, by --decoder distmult)");
  if (traits.heads) add_heads(model, entry.relations);
  if (entry.relations) {
    model.choice(kModel, "norm", &TrunkParts::norm,
                 "Normalisation of each layer's output: batch, of each node type, or layer");
    model.integer(kModel, "pre-linear", &TrunkParts::pre_linear, 0,
                  "Linear layers of each node type before the first graph layer; 0 is for features of all "
                  "types, of one width",
                  1);
  }
  if (entry.relations && find_hetero_conv(entry.name).decomposes) {
    model.integer(kModel, "bases", &TrainOptions::bases, 0,
                  "The weights of relations are combinations of N shared matrices; 0: a matrix for each");
    model.integer(kModel, "blocks", &TrainOptions::blocks, 0,
                  "The weight of a relation is N blocks on the diagonal; 0: a full matrix");
  }
  if (!traits.hops && !entry.relations) add_trunk_options(model.under("Trunk"));
  if (traits.aggr)
    model.choice(kModel, "aggr", &TrainOptions::aggr, "Aggregation over neighbours: mean, max, min or sum");
  if (traits.aggr)
    model.flag(kModel, "self-loops", &TrainOptions::sage_loops,
               "Add a self loop to each node: it is one of its own neighbours");
  if (traits.train_eps)
    model.flag(kModel, "train-eps", &TrainOptions::train_eps,
               "Learn the weight 1 + eps of a node's own features");
  if (traits.hops)
    model.integer(kModel, "hops", &TrainOptions::hops, 1, "Number of propagation steps", kMostLayers);
  if (traits.initial)
    model.number(
        kModel, "lambda", &TrainOptions::lambda, "a number in [0, 1.7]",
        [](double x) { return x >= 0 && x <= 1.7; },
        "Weight of layer l's product with its matrix: beta = log(lambda / l + 1)");
  if (traits.teleport || traits.initial)
    model.number(
        kModel, "alpha", &TrainOptions::alpha, "a number in [0, 1]",
        [](double x) { return x >= 0 && x <= 1; },
        traits.initial ? "Share of the input of the first layer in the input of each layer"
                       : "Teleport probability: share of a node's own prediction");
  if (traits.teleport)
    model.probability(kModel | kDropout, "edge-dropout", &TrainOptions::edge_dropout,
                      "Dropout probability of the edges in each propagation step");
}

void check_model_options(const TrainOptions& o) {
  if (has_relations(o)) check_hetero_options(o);
  check(!o.edge_features || o.reorder == NodeOrder::kNone,
        "--edge-features is not for --reorder, which keeps no edge features");
  check(o.batch == 0 || !o.sage_loops, "--self-loops is for the whole graph: not with --batch");
  check(o.drop_edge == 0 || !o.prune_rows,
        "--drop-edge is not for --prune-rows: the last layer has rows alone");
  check_trunk(o);
}

}  // namespace rodeo
