/// train_gcn --dataset FILE: trains the GCN of Kipf & Welling with the published defaults.
#include <fmt/format.h>

#include "core/context.h"
#include "core/storage.h"
#include "models/gcn.h"
#include "train/console.h"
#include "train/options.h"
#include "train/run.h"
#include "train/trainer.h"

namespace rodeo {
namespace {

std::vector<ParameterGroup> parameter_groups(const Gcn& model, const TrainOptions& options) {
  const std::vector<Variable> all = model.parameters(), first = model.first_layer_parameters();
  return {{first, {.lr = options.lr, .weight_decay = options.weight_decay}},
          {{all.begin() + first.size(), all.end()}, {.lr = options.lr}}};
}

void train(const TrainOptions& options) {
  const Device device = parse_device(options.device);
  set_allow_tf32(options.tf32);
  Console console(options.quiet);
  console.say("device", describe_device(options.device, device));

  GcnGraph graph;
  const NodeTask task = load_task(options, device, [&](Graph raw) { graph = gcn_norm(raw.adj, raw.weight); });
  const Variable x(task.x);
  console.say("dataset", fmt::format("{}: {} nodes, {} edges, {} features, {} classes", task.name,
                                     task.num_nodes, task.num_edges, task.num_features, task.num_classes));
  console.say("split", fmt::format("{} train, {} val, {} test", task.split.train.numel(),
                                   task.split.val.numel(), task.split.test.numel()));
  console.say("memory", str(format_bytes(memory_stats(device).current), " on ", device));
  console.say("algorithms",
              fmt::format("spmm {}, matmul {}", name(options.spmm), options.tf32 ? "tf32" : "f32"));

  Gcn model({.in = task.num_features,
             .hidden = options.hidden,
             .classes = task.num_classes,
             .layers = options.layers,
             .dropout = options.dropout,
             .spmm = {options.spmm}},
            Random(options.seed), device);
  console.say("model", fmt::format("GCN, {} layers, {} hidden, dropout {}: {} parameters\n", options.layers,
                                   options.hidden, options.dropout, model.num_parameters()));

  Trainer trainer(model, [&] { return model.forward(graph, x); }, parameter_groups(model, options),
                  task.label, task.split,
                  {.epochs = options.epochs, .eval_every = options.eval_every, .patience = options.patience});
  console.finish(task, trainer.fit([&](const EpochReport& report) { console.epoch(report); }));
  if (options.explain) console.explain(options.spmm, graph.adj);
}

}  // namespace
}  // namespace rodeo

int main(int argc, char** argv) {
  return rodeo::run_command("train_gcn", [&] {
    const rodeo::TrainOptions options = rodeo::parse_train_options(argc, argv);
    if (options.notice.empty())
      rodeo::train(options);
    else
      fmt::print("{}", options.notice);
  });
}
