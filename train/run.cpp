#include "train/run.h"

#include <fmt/core.h>

#include <cstdio>
#include <new>
#include <utility>

#include "train/feature_form.h"
#include "train/timing.h"

namespace rodeo {

NodeTask load_task(const TrainOptions& options, Device device, const std::function<void(Graph)>& prepare) {
  Dataset dataset;
  const LoadOptions wanted{
      .need = Need::kTraining, .split = options.split, .seed = options.seed, .device = device};
  const double load_ms = timed(kCpu, [&] { dataset = load_dataset(options.dataset, wanted); });
  NodeTask task = make_task(std::move(dataset), options, device, prepare);
  task.load_ms = load_ms;
  return task;
}

NodeTask make_task(Dataset dataset, const TrainOptions& options, Device device,
                   const std::function<void(Graph)>& prepare) {
  NodeTask task;
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

int run_command(std::string_view program, const std::function<void()>& body) {
  try {
    body();
    check(std::fflush(stdout) == 0 && !std::ferror(stdout), "cannot write to the standard output");
    return 0;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "{}: out of host memory\n", program);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", program, error.what());
  }
  return 2;
}

}  // namespace rodeo
