#include "train/task/node_model.h"

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

namespace rodeo {
namespace {

/// Binds a model to its forward function. The published weight decay of some applies to the first layer
/// alone: to the first `decayed` parameters.
template <class Model, class Forward>
NodeModel bind(std::unique_ptr<Model> module, const TrainOptions& options, std::size_t decayed,
               const Adjacency& adj, Forward forward, std::string text) {
  NodeModel model;
  const std::vector<Variable> all = module->parameters();
  const auto rest = all.begin() + static_cast<std::ptrdiff_t>(decayed);
  model.groups = {{{all.begin(), rest}, {.lr = options.lr, .weight_decay = options.weight_decay}}};
  if (rest != all.end()) model.groups.push_back({{rest, all.end()}, {.lr = options.lr}});
  model.forward = [module = module.get(), forward = std::move(forward)] { return forward(*module); };
  model.adj = adj;
  model.text = std::move(text);
  model.algorithms = fmt::format("spmm {}", name(options.spmm));
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

NodeModel gcn_model(const TrainOptions& options, const NodeTask& task, const GcnGraph& graph) {
  auto gcn = std::make_unique<Gcn>(GcnOptions{.in = task.num_features,
                                              .hidden = options.hidden,
                                              .classes = task.num_classes,
                                              .layers = options.layers,
                                              .dropout = options.dropout,
                                              .input_dropout = options.input_dropout,
                                              .spmm = {options.spmm}},
                                   Random(options.seed), task.x.device());
  const std::size_t first = gcn->first_layer_parameters().size();
  GcnGraph last;
  if (options.prune_rows) last = select_rows(graph, task.split.train);
  NodeModel model = bind(
      std::move(gcn), options, first, graph.adj,
      [graph, last, x = task.x](Gcn& m) {
        return last.adj.defined() && m.training() ? m.forward(graph, x, last) : m.forward(graph, x);
      },
      describe("GCN", options));
  model.training_rows = options.prune_rows;
  if (options.prune_rows) model.algorithms += ", rows pruned";
  return model;
}

NodeModel sgc_model(const TrainOptions& options, const NodeTask& task, const GcnGraph& graph) {
  auto sgc = std::make_unique<Sgc>(
      SgcOptions{
          .in = task.num_features, .classes = task.num_classes, .hops = options.hops, .spmm = {options.spmm}},
      Random(options.seed), task.x.device());
  const std::size_t all = sgc->parameters().size();
  return bind(
      std::move(sgc), options, all, graph.adj,
      [graph, x = task.x.dense()](Sgc& model) { return model.forward(graph, x); },
      fmt::format("SGC, {} hops", options.hops));
}

NodeModel appnp_model(const TrainOptions& options, const NodeTask& task, const GcnGraph& graph) {
  auto appnp = std::make_unique<AppnpModel>(AppnpModelOptions{.in = task.num_features,
                                                              .hidden = options.hidden,
                                                              .classes = task.num_classes,
                                                              .layers = options.layers,
                                                              .dropout = options.dropout,
                                                              .input_dropout = options.input_dropout,
                                                              .hops = options.hops,
                                                              .alpha = options.alpha,
                                                              .edge_dropout = options.edge_dropout,
                                                              .spmm = {options.spmm}},
                                            Random(options.seed), task.x.device());
  const std::size_t first = appnp->first_layer_parameters().size();
  return bind(
      std::move(appnp), options, first, graph.adj,
      [graph, x = task.x](AppnpModel& model) { return model.forward(graph, x); },
      fmt::format("{}, {} hops, alpha {}, edge dropout {}", describe("APPNP", options), options.hops,
                  options.alpha, options.edge_dropout));
}

/// What a model that reads neither edge weights nor self loops of its own says of a weighted graph.
const char* unused_weights(bool weighted) {
  return weighted ? ", edge weights not used" : "";
}

NodeModel sage_model(const TrainOptions& options, const NodeTask& task, const Adjacency& adj, bool weighted) {
  auto sage = std::make_unique<Sage>(SageOptions{.in = task.num_features,
                                                 .hidden = options.hidden,
                                                 .classes = task.num_classes,
                                                 .layers = options.layers,
                                                 .dropout = options.dropout,
                                                 .input_dropout = options.input_dropout,
                                                 .aggr = options.aggr,
                                                 .spmm = {options.spmm}},
                                     Random(options.seed), task.x.device());
  const std::size_t all = sage->parameters().size();
  return bind(
      std::move(sage), options, all, adj, [adj, x = task.x](Sage& model) { return model.forward(adj, x); },
      fmt::format("{}, {} of neighbours{}", describe("SAGE", options), name(options.aggr),
                  unused_weights(weighted)));
}

NodeModel gin_model(const TrainOptions& options, const NodeTask& task, const Adjacency& adj, bool weighted) {
  auto gin = std::make_unique<Gin>(GinOptions{.in = task.num_features,
                                              .hidden = options.hidden,
                                              .classes = task.num_classes,
                                              .layers = options.layers,
                                              .dropout = options.dropout,
                                              .input_dropout = options.input_dropout,
                                              .train_eps = options.train_eps,
                                              .spmm = {options.spmm}},
                                   Random(options.seed), task.x.device());
  const std::size_t all = gin->parameters().size();
  return bind(
      std::move(gin), options, all, adj,
      [adj, x = task.x.dense()](Gin& model) { return model.forward(adj, x); },
      fmt::format("{}{}{}", describe("GIN", options), options.train_eps ? ", eps learned" : "",
                  unused_weights(weighted)));
}

template <class Model>
NodeModel attention_model(const TrainOptions& options, const NodeTask& task, const Adjacency& adj,
                          bool weighted) {
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
                                                .form = options.attention},
                                     Random(options.seed), task.x.device());
  const std::size_t all = gat->parameters().size();
  const bool fused = std::is_same_v<Model, Gat>;
  NodeModel model = bind(
      std::move(gat), options, all, adj, [adj, x = task.x](Model& m) { return m.forward(adj, x); },
      fmt::format("{}, {} layers, {} heads x {} hidden, {} output head{}, {}, attention dropout {}{}",
                  fused ? "GAT" : "GATv2", options.layers, options.heads, options.hidden, options.out_heads,
                  options.out_heads == 1 ? "" : "s", describe_dropout(options), options.attention_dropout,
                  unused_weights(weighted)));
  model.algorithms = fmt::format("attention {}", fused ? name(options.attention) : "composed");
  return model;
}

// `make_task(prepare)` gives the task after prepare(graph).
template <class MakeTask>
NodeRun run_on(const TrainOptions& options, MakeTask&& make_task) {
  NodeRun run;
  GcnGraph normalized;
  Adjacency adj;
  bool weighted = false;
  const bool normalizes = options.model == ModelKind::kGcn || options.model == ModelKind::kSgc ||
                          options.model == ModelKind::kAppnp;
  const bool attends = options.model == ModelKind::kGat || options.model == ModelKind::kGatv2;
  run.task = make_task([&](Graph graph) {
    weighted = graph.weight.defined();
    if (normalizes) {
      normalized = gcn_norm(graph.adj, graph.weight);
      normalized.weight = normalized.weight.to(activation_dtype(options.precision));
    } else {
      adj = attends ? add_self_loops(graph.adj).adj : graph.adj;
    }
  });
  switch (options.model) {
    case ModelKind::kGcn:
      run.model = gcn_model(options, run.task, normalized);
      break;
    case ModelKind::kSgc:
      run.model = sgc_model(options, run.task, normalized);
      break;
    case ModelKind::kAppnp:
      run.model = appnp_model(options, run.task, normalized);
      break;
    case ModelKind::kGat:
      run.model = attention_model<Gat>(options, run.task, adj, weighted);
      break;
    case ModelKind::kGatv2:
      run.model = attention_model<Gatv2>(options, run.task, adj, weighted);
      break;
    case ModelKind::kSage:
      run.model = sage_model(options, run.task, adj, weighted);
      break;
    case ModelKind::kGin:
      run.model = gin_model(options, run.task, adj, weighted);
      break;
  }
  run.model.algorithms += fmt::format(", precision {}", name(options.precision));
  if (run.task.x.is_sparse()) run.model.algorithms += ", features sparse";
  return run;
}

}  // namespace

NodeRun load_run(const TrainOptions& options, Device device) {
  return run_on(options, [&](const auto& prepare) { return load_task(options, device, prepare); });
}

NodeRun make_run(Dataset dataset, const TrainOptions& options, Device device) {
  return run_on(options,
                [&](const auto& prepare) { return make_task(std::move(dataset), options, device, prepare); });
}

}  // namespace rodeo
