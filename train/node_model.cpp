#include "train/node_model.h"

#include <fmt/format.h>

#include <utility>

#include "models/gat.h"
#include "models/gcn.h"

namespace rodeo {
namespace {

NodeModel gcn_model(const TrainOptions& options, const NodeTask& task, const GcnGraph& graph) {
  auto gcn = std::make_unique<Gcn>(GcnOptions{.in = task.num_features,
                                              .hidden = options.hidden,
                                              .classes = task.num_classes,
                                              .layers = options.layers,
                                              .dropout = options.dropout,
                                              .spmm = {options.spmm}},
                                   Random(options.seed), task.x.device());
  NodeModel model;
  model.forward = [gcn = gcn.get(), graph, x = Variable(task.x)] { return gcn->forward(graph, x); };
  // The published weight decay applies to the first layer alone.
  const std::vector<Variable> all = gcn->parameters(), first = gcn->first_layer_parameters();
  model.groups = {{first, {.lr = options.lr, .weight_decay = options.weight_decay}},
                  {{all.begin() + static_cast<std::ptrdiff_t>(first.size()), all.end()}, {.lr = options.lr}}};
  model.adj = graph.adj;
  model.text =
      fmt::format("GCN, {} layers, {} hidden, dropout {}", options.layers, options.hidden, options.dropout);
  model.algorithms = fmt::format("spmm {}", name(options.spmm));
  model.module = std::move(gcn);
  return model;
}

NodeModel gat_model(const TrainOptions& options, const NodeTask& task, const Adjacency& adj, bool weighted) {
  auto gat = std::make_unique<Gat>(GatOptions{.in = task.num_features,
                                              .hidden = options.hidden,
                                              .classes = task.num_classes,
                                              .layers = options.layers,
                                              .heads = options.heads,
                                              .out_heads = options.out_heads,
                                              .dropout = options.dropout,
                                              .attention_dropout = options.attention_dropout,
                                              .negative_slope = options.negative_slope,
                                              .form = options.attention},
                                   Random(options.seed), task.x.device());
  NodeModel model;
  model.forward = [gat = gat.get(), adj, x = Variable(task.x)] { return gat->forward(adj, x); };
  model.groups = {{gat->parameters(), {.lr = options.lr, .weight_decay = options.weight_decay}}};
  model.adj = adj;
  model.text = fmt::format(
      "GAT, {} layers, {} heads x {} hidden, {} output head{}, dropout {}, attention dropout {}{}",
      options.layers, options.heads, options.hidden, options.out_heads, options.out_heads == 1 ? "" : "s",
      options.dropout, options.attention_dropout, weighted ? ", edge weights not used" : "");
  model.algorithms = fmt::format("attention {}", name(options.attention));
  model.module = std::move(gat);
  return model;
}

// `make_task(prepare)` gives the task after prepare(graph).
template <class MakeTask>
NodeRun run_on(const TrainOptions& options, MakeTask&& make_task) {
  NodeRun run;
  if (options.model == ModelKind::kGat) {
    Adjacency adj;
    bool weighted = false;
    run.task = make_task([&](Graph raw) {
      adj = add_self_loops(raw.adj).adj;
      weighted = raw.weight.defined();
    });
    run.model = gat_model(options, run.task, adj, weighted);
  } else {
    GcnGraph graph;
    run.task = make_task([&](Graph raw) { graph = gcn_norm(raw.adj, raw.weight); });
    run.model = gcn_model(options, run.task, graph);
  }
  run.model.algorithms += options.tf32 ? ", matmul tf32" : ", matmul f32";
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
