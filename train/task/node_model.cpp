#include "train/task/node_model.h"

#include <fmt/format.h>

#include <utility>

#include "train/task/model_registry.h"

namespace rodeo {
namespace {

ModelGraph model_graph(const Graph& graph, GraphInput input, Precision precision) {
  ModelGraph out{graph.adj, {}, graph.weight.defined()};
  if (input == GraphInput::kSelfLoops) out.adj = add_self_loops(graph.adj).adj;
  if (input == GraphInput::kGcnNorm) {
    out.normalized = gcn_norm(graph.adj, graph.weight);
    out.normalized.weight = out.normalized.weight.to(activation_dtype(precision));
    out.adj = out.normalized.adj;
  }
  return out;
}

/// load(prepare) returns the task after it has called prepare(graph).
template <class Load>
NodeRun build_run(const TrainOptions& options, Load&& load) {
  const ModelEntry& entry = find_model(options.model);
  NodeRun run;
  ModelGraph graph;
  run.task =
      load([&](const Graph& from) { graph = model_graph(from, entry.traits.graph, options.precision); });
  run.model = entry.make(options, run.task, graph);
  run.model.adj = graph.adj;
  run.model.algorithms += fmt::format(", precision {}", name(options.precision));
  if (run.task.x.is_sparse()) run.model.algorithms += ", features sparse";
  return run;
}

}  // namespace

NodeRun load_run(const TrainOptions& options, Device device) {
  return build_run(options, [&](const auto& prepare) { return load_task(options, device, prepare); });
}

NodeRun make_run(Dataset dataset, const TrainOptions& options, Device device) {
  return build_run(
      options, [&](const auto& prepare) { return make_task(std::move(dataset), options, device, prepare); });
}

}  // namespace rodeo
