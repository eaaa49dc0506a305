/// The model registry: one row per model, at the end of this file, and the functions that build them.
#include <fmt/format.h>

#include <type_traits>
#include <utility>

#include "models/appnp.h"
#include "models/gat.h"
#include "models/gcn.h"
#include "models/gin.h"
#include "models/sage.h"
#include "models/sgc.h"
#include "ops/select_rows.h"
#include "train/task/batch_models.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"

namespace rodeo {
namespace {

SpmmOptions spmm_options(const TrainOptions& options) {
  return {.algorithm = options.spmm, .accumulate = options.spmm_accumulate};
}

/// Binds a module to its forward function. Weight decay applies to the first `decayed` parameters.
template <class Model, class Forward>
NodeModel bind(std::unique_ptr<Model> module, const TrainOptions& options, std::size_t decayed,
               Forward forward, std::string text) {
  NodeModel model;
  const std::vector<Variable> all = module->parameters();
  const auto rest = all.begin() + static_cast<std::ptrdiff_t>(decayed);
  model.groups = {{{all.begin(), rest}, {.lr = options.lr, .weight_decay = options.weight_decay}}};
  if (rest != all.end()) model.groups.push_back({{rest, all.end()}, {.lr = options.lr}});
  model.forward = [module = module.get(), forward = std::move(forward)] { return forward(*module); };
  model.text = std::move(text);
  model.algorithms = fmt::format("spmm {}", name(options.spmm));
  if (options.spmm_accumulate != Accumulate::kOrdered)
    model.algorithms += fmt::format(" {}", name(options.spmm_accumulate));
  model.module = std::move(module);
  return model;
}

/// "dropout 0.5", and "dropout 0.5 (0 of features)"
std::string describe_dropout(const TrainOptions& options) {
  const double p = options.input_dropout.value_or(options.dropout);
  return fmt::format("dropout {}", options.dropout) +
         (p == options.dropout ? "" : fmt::format(" ({} of features)", p));
}

/// "GCN, 2 layers, 16 hidden, dropout 0.5"
std::string describe(std::string_view model, const TrainOptions& options) {
  return fmt::format("{}, {} layers, {} hidden, {}", model, options.layers, options.hidden,
                     describe_dropout(options));
}

/// Part of the description of a model that reads no edge weights.
const char* unused_weights(const ModelGraph& graph) {
  return graph.weighted ? ", edge weights not used" : "";
}

Variable edge_features(const ModelGraph& graph) {
  return graph.edge_attr.defined() ? Variable(graph.edge_attr) : Variable();
}

NodeModel make_gcn(const TrainOptions& options, const NodeTask& task, const ModelGraph& graph) {
  auto gcn = std::make_unique<Gcn>(GcnOptions{.in = task.num_features,
                                              .hidden = options.hidden,
                                              .classes = task.num_classes,
                                              .layers = options.layers,
                                              .dropout = options.dropout,
                                              .input_dropout = options.input_dropout,
                                              .spmm = spmm_options(options)},
                                   Random(options.seed), task.x.device());
  const std::size_t first = gcn->first_layer_parameters().size();
  GcnGraph last;
  if (options.prune_rows) last = select_rows(graph.normalized, task.split.train);
  NodeModel model = bind(
      std::move(gcn), options, first,
      [graph = graph.normalized, last, x = task.x](Gcn& m) {
        return last.adj.defined() && m.training() ? m.forward(graph, x, last) : m.forward(graph, x);
      },
      describe("GCN", options));
  model.training_rows = options.prune_rows;
  if (options.prune_rows) model.algorithms += ", rows pruned";
  return model;
}

template <class Model>
NodeModel make_gat(const TrainOptions& options, const NodeTask& task, const ModelGraph& graph) {
  auto gat = std::make_unique<Model>(GatOptions{.in = task.num_features,
                                                .hidden = options.hidden,
                                                .classes = task.num_classes,
                                                .layers = options.layers,
                                                .heads = options.heads,
                                                .out_heads = options.out_heads,
                                                .dropout = options.dropout,
                                                .input_dropout = options.input_dropout,
                                                .attention_dropout = options.attention_dropout,
                                                .negative_slope = options.negative_slope,
                                                .form = options.attention,
                                                .sddmm = {options.sddmm},
                                                .edge_in = task.num_edge_features},
                                     Random(options.seed), task.x.device());
  const std::size_t all = gat->parameters().size();
  const bool has_fused_form = std::is_same_v<Model, Gat>;
  NodeModel model = bind(
      std::move(gat), options, all,
      [adj = graph.adj, x = task.x, f = edge_features(graph)](Model& m) { return m.forward(adj, x, f); },
      fmt::format("{}, {} layers, {} heads x {} hidden, {} output head{}, {}, attention dropout {}{}",
                  has_fused_form ? "GAT" : "GATv2", options.layers, options.heads, options.hidden,
                  options.out_heads, options.out_heads == 1 ? "" : "s", describe_dropout(options),
                  options.attention_dropout, unused_weights(graph)));
  model.algorithms = describe_attention(options);
  return model;
}

NodeModel make_sage(const TrainOptions& options, const NodeTask& task, const ModelGraph& graph) {
  auto sage = std::make_unique<Sage>(SageOptions{.in = task.num_features,
                                                 .hidden = options.hidden,
                                                 .classes = task.num_classes,
                                                 .layers = options.layers,
                                                 .dropout = options.dropout,
                                                 .input_dropout = options.input_dropout,
                                                 .aggr = options.aggr,
                                                 .spmm = spmm_options(options)},
                                     Random(options.seed), task.x.device());
  const std::size_t all = sage->parameters().size();
  Sage* const model = sage.get();
  NodeModel out = bind(
      std::move(sage), options, all,
      [adj = graph.adj, x = task.x](Sage& model) { return model.forward(adj, x); },
      fmt::format("{}, {} of neighbours{}", describe("SAGE", options), name(options.aggr),
                  unused_weights(graph)));
  if (options.batch > 0) {
    train_on_batches(out, *model, options, task, {graph.adj, {}, {}});
    out.text += describe_batches(options);
  }
  return out;
}

NodeModel make_gin(const TrainOptions& options, const NodeTask& task, const ModelGraph& graph) {
  auto gin = std::make_unique<Gin>(GinOptions{.in = task.num_features,
                                              .hidden = options.hidden,
                                              .classes = task.num_classes,
                                              .layers = options.layers,
                                              .dropout = options.dropout,
                                              .input_dropout = options.input_dropout,
                                              .train_eps = options.train_eps,
                                              .edge_in = task.num_edge_features,
                                              .spmm = spmm_options(options)},
                                   Random(options.seed), task.x.device());
  const std::size_t all = gin->parameters().size();
  return bind(
      std::move(gin), options, all,
      [adj = graph.adj, x = task.x, f = edge_features(graph)](Gin& model) {
        return model.forward(adj, x, f);
      },
      fmt::format("{}{}{}", describe(options.edge_features ? "GINE" : "GIN", options),
                  options.train_eps ? ", eps learned" : "", unused_weights(graph)));
}

NodeModel make_sgc(const TrainOptions& options, const NodeTask& task, const ModelGraph& graph) {
  auto sgc = std::make_unique<Sgc>(SgcOptions{.in = task.num_features,
                                              .classes = task.num_classes,
                                              .hops = options.hops,
                                              .spmm = spmm_options(options)},
                                   Random(options.seed), task.x.device());
  const std::size_t all = sgc->parameters().size();
  return bind(
      std::move(sgc), options, all,
      [graph = graph.normalized, x = task.x](Sgc& model) { return model.forward(graph, x); },
      fmt::format("SGC, {} hops", options.hops));
}

NodeModel make_appnp(const TrainOptions& options, const NodeTask& task, const ModelGraph& graph) {
  auto appnp = std::make_unique<AppnpModel>(AppnpModelOptions{.in = task.num_features,
                                                              .hidden = options.hidden,
                                                              .classes = task.num_classes,
                                                              .layers = options.layers,
                                                              .dropout = options.dropout,
                                                              .input_dropout = options.input_dropout,
                                                              .hops = options.hops,
                                                              .alpha = options.alpha,
                                                              .edge_dropout = options.edge_dropout,
                                                              .spmm = spmm_options(options)},
                                            Random(options.seed), task.x.device());
  const std::size_t first = appnp->first_layer_parameters().size();
  return bind(
      std::move(appnp), options, first,
      [graph = graph.normalized, x = task.x](AppnpModel& model) { return model.forward(graph, x); },
      fmt::format("{}, {} hops, alpha {}, edge dropout {}", describe("APPNP", options), options.hops,
                  options.alpha, options.edge_dropout));
}

void set_published_gat(TrainOptions& options) {
  options.hidden = 8;
  options.trunk.activation = TrunkActivation::kElu;
  options.dropout = 0.6;
  options.lr = 0.005;
}

constexpr ModelEntry kModels[] = {
    // Kipf & Welling (ICLR 2017).
    {.name = "gcn",
     .traits = {.graph = GraphInput::kGcnNorm,
                .hidden_layers = true,
                .spmm = true,
                .prune_rows = true,
                .blocks = true,
                .trunk = true,
                .propagates_inputs = true},
     .set_published = nullptr,
     .make = make_gcn},
    // Velickovic et al. (ICLR 2018), Cora and CiteSeer.
    {.name = "gat",
     .traits = {.graph = GraphInput::kSelfLoops,
                .hidden_layers = true,
                .heads = true,
                .attention_form = true,
                .blocks = true,
                .trunk = true,
                .decay_all = true},
     .set_published = set_published_gat,
     .make = make_gat<Gat>},
    // Brody et al. (ICLR 2022); hyperparameters of the GAT.
    {.name = "gatv2",
     .traits = {.graph = GraphInput::kSelfLoops,
                .hidden_layers = true,
                .heads = true,
                .blocks = true,
                .trunk = true,
                .decay_all = true,
                .edge_features = true},
     .set_published = set_published_gat,
     .make = make_gat<Gatv2>},
    // The paper of SAGE has other tasks; hyperparameters of the GCN.
    {.name = "sage",
     .traits = {.hidden_layers = true,
                .spmm = true,
                .aggr = true,
                .blocks = true,
                .trunk = true,
                .decay_all = true},
     .set_published = nullptr,
     .make = make_sage},
    // The paper of GIN has other tasks; hyperparameters of the GCN, but for the width.
    {.name = "gin",
     .traits = {.hidden_layers = true,
                .spmm = true,
                .train_eps = true,
                .blocks = true,
                .trunk = true,
                .decay_all = true,
                .edge_features = true},
     .set_published = [](TrainOptions& options) { options.hidden = 64; },
     .make = make_gin},
    // Wu et al. (ICML 2019).
    {.name = "sgc",
     .traits = {.graph = GraphInput::kGcnNorm,
                .spmm = true,
                .hops = true,
                .decay_all = true,
                .keeps_propagated = true},
     .set_published =
         [](TrainOptions& options) {
           options.epochs = 100;
           options.lr = 0.2;
           options.weight_decay = 1.3e-5;
         },
     .make = make_sgc},
    // Klicpera et al. (ICLR 2019).
    {.name = "appnp",
     .traits =
         {.graph = GraphInput::kGcnNorm, .hidden_layers = true, .spmm = true, .hops = true, .teleport = true},
     .set_published =
         [](TrainOptions& options) {
           options.hidden = 64;
           options.hops = 10;
           options.weight_decay = 5e-3;
         },
     .make = make_appnp},
};

}  // namespace

std::span<const ModelEntry> model_registry() {
  return kModels;
}

}  // namespace rodeo
