#include "train/task/node_task.h"

#include <fmt/core.h>

#include <utility>

#include "core/storage.h"
#include "datasets/subset.h"
#include "train/task/feature_form.h"
#include "train/timing.h"

namespace rodeo {
namespace {

void reorder(Dataset& dataset, const TrainOptions& options, NodeTask& task) {
  constexpr std::int64_t kWindow = 1024;
  const double before = near_edges(dataset, kWindow);
  task.reorder_ms = timed(kCpu, [&] {
    task.order = node_order(dataset, options.reorder, options.undirected);
    dataset = select_nodes(dataset, task.order);
  });
  task.reorder = fmt::format("{}, edges within 1,024 places {:.1f} % -> {:.1f} %", name(options.reorder),
                             100 * before, 100 * near_edges(dataset, kWindow));
}

}  // namespace

NodeTask load_task(const TrainOptions& options, Device device, const std::function<void(Graph)>& prepare) {
  Dataset dataset;
  // Reordering runs on the host.
  const LoadOptions wanted{.need = Need::kTraining,
                           .split = options.split,
                           .seed = options.seed,
                           .device = options.reorder == NodeOrder::kNone ? device : kCpu};
  const double load_ms = timed(kCpu, [&] { dataset = load_dataset(options.dataset, wanted); });
  NodeTask task = make_task(std::move(dataset), options, device, prepare);
  task.load_ms = load_ms;
  return task;
}

NodeTask make_task(Dataset dataset, const TrainOptions& options, Device device,
                   const std::function<void(Graph)>& prepare) {
  NodeTask task;
  if (options.reorder != NodeOrder::kNone) reorder(dataset, options, task);
  reset_peak_memory(device);
  task.convert_ms = timed(device, [&] {
    Graph graph = to_graph(dataset, device, {.symmetrize = options.undirected});
    task.num_edges = graph.adj.num_edges();
    dataset.src = dataset.dst = dataset.indptr = dataset.indices = dataset.edge_weight = {};
    prepare(std::move(graph));
    ChosenFeatures chosen = choose_features(dataset, options, device);
    task.x = std::move(chosen.x);
    task.features = std::move(chosen.text);
    task.label = dataset.y.to(device);
    task.split = {dataset.split.train.to(device), dataset.split.val.to(device),
                  dataset.split.test.to(device)};
  });
  task.convert_peak_bytes = memory_stats(device).peak;
  task.name = dataset.name;
  task.num_nodes = dataset.num_nodes;
  task.num_features = dataset.num_features;
  task.num_classes = dataset.num_classes;
  return task;
}

Tensor in_file_order(const NodeTask& task, const Tensor& rows) {
  return task.order.defined() ? take(rows.to(kCpu), inverse_order(task.order)) : rows.to(kCpu);
}

}  // namespace rodeo
