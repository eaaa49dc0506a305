#include "train/task/node_task.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/storage.h"
#include "datasets/feature_rows.h"
#include "datasets/hdf5_check.h"
#include "datasets/subset.h"
#include "train/task/feature_form.h"
#include "train/task/place_features.h"
#include "train/task/rank_share.h"
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

void find_majority(const Dataset& dataset, NodeTask& task) {
  if (dataset.multi_label() || dataset.regression() || dataset.split.test.numel() == 0) return;
  std::vector<std::int64_t> count(static_cast<std::size_t>(dataset.num_classes));
  const auto* label = dataset.y.data<std::int64_t>();
  for (const std::int64_t node : dataset.split.test.to_vector<std::int64_t>())
    ++count.at(static_cast<std::size_t>(label[node]));
  const auto largest = std::max_element(count.begin(), count.end());
  task.majority_class = largest - count.begin();
  task.majority = static_cast<double>(*largest) / static_cast<double>(dataset.split.test.numel());
}

/// The first rank has nodes, and chooses for all.
FeatureForm form_of_first_rank(const Dataset& share, const TrainOptions& options, Device device,
                               const Communicator& ranks) {
  const bool sparse = choose_feature_form(share, options, device) == FeatureForm::kSparse;
  const Tensor choice = Tensor::from(std::vector<std::int32_t>{sparse ? 1 : 0}, device);
  ranks.broadcast(choice);
  return choice.item() != 0 ? FeatureForm::kSparse : FeatureForm::kDense;
}

/// Of the features that a rank reads.
std::int64_t dense_columns(const Dataset& dataset, const RankRun& over) {
  if (over.features) return dataset.num_nodes > 0 ? over.features(0, 1).dim(1) : 0;
  return dataset.x.defined() ? dataset.x.dim(1) : 0;
}

/// `placing`: of mini-batches, else null.
NodeTask load_at(const TrainOptions& options, Device device, const std::function<void(Graph)>& prepare,
                 RankRun* over, const Communicator& ranks, const Placing* placing) {
  Dataset dataset;
  // Reordering and cutting for ranks run on the host.
  LoadOptions wanted{.need = Need::kTraining,
                     .split = options.split,
                     .seed = options.seed,
                     .device = options.reorder == NodeOrder::kNone && !over ? device : kCpu};
  if (placing) {
    if (placing->places.front().graph == GraphOn::kHost) wanted.device = kCpu;
    wanted.features = loads_features(*placing, options);
  }
  if (over && options.reorder == NodeOrder::kNone) {
    wanted.edges = false;
    over->edges = [&](std::int64_t nodes) {
      return load_edge_part(options.dataset, nodes, over->ranks.rank(), over->ranks.size());
    };
  }
  if (over && options.reorder == NodeOrder::kNone && has_dense_features(options.dataset)) {
    wanted.features = false;
    over->features = [&](std::int64_t begin, std::int64_t count) {
      return load_feature_rows(options.dataset, begin, count);
    };
  }
  const double load_ms = timed(kCpu, [&] { dataset = load_dataset(options.dataset, wanted); });
  NodeTask task = make_task(std::move(dataset), options, device, prepare, over, ranks, placing);
  task.load_ms = load_ms;
  return task;
}

}  // namespace

NodeTask load_task(const TrainOptions& options, Device device, const std::function<void(Graph)>& prepare,
                   RankRun* over, const Communicator& ranks) {
  check_hdf5_file(options.dataset);
  if (over || options.batch == 0) return load_at(options, device, prepare, over, ranks, nullptr);
  Placing placing = place_file(options, device, ranks);
  for (;;) {
    bool prepared = false;
    try {
      const auto prepare_once = [&](Graph graph) {
        prepare(std::move(graph));
        prepared = true;  // the graph stays where it is
      };
      return load_at(options, device, prepare_once, nullptr, ranks, &placing);
    } catch (const OutOfMemory&) {
      if (prepared || placing.places.size() == 1) throw;
      synchronize(device);
      placing.places.erase(placing.places.begin());
    }
  }
}

NodeTask make_task(Dataset dataset, const TrainOptions& options, Device device,
                   const std::function<void(Graph)>& prepare, RankRun* over, const Communicator& ranks,
                   const Placing* placing) {
  NodeTask task;
  const bool drops_attr = dataset.edge_attr.defined() && !options.edge_features;
  if (drops_attr) dataset.edge_attr = {};
  check(!options.edge_features || dataset.edge_attr.defined(), dataset.name,
        ": has no /edge_attr, which --edge-features reads");
  if (options.edge_features) task.num_edge_features = dataset.edge_attr.dim(1);
  if (options.reorder != NodeOrder::kNone) reorder(dataset, options, task);
  Placing chosen_places;
  if (!placing && !over && options.batch > 0)
    placing = &(chosen_places = place_dataset(dataset, options, device, ranks));
  const bool graph_on_host = over || (placing && placing->places.front().graph == GraphOn::kHost);
  reset_peak_memory(device);
  task.convert_ms = timed(device, [&] {
    if (over) over->dense_features = dense_columns(dataset, *over);
    if (over && over->edges) {
      const EdgeShare share = share_edges(over->edges(dataset.num_nodes), dataset.num_nodes,
                                          options.undirected, over->dense_features, over->ranks);
      task.num_edges = share.num_edges, task.one_way_edges = share.one_way_edges;
      over->prepare(share);
    } else {
      Graph graph = to_graph(dataset, graph_on_host ? kCpu : device, {.symmetrize = options.undirected});
      task.num_edges = graph.adj.num_edges();
      if (!options.undirected) task.one_way_edges = count_one_way_edges(graph.adj);
      dataset.src = dataset.dst = dataset.indptr = dataset.indices = dataset.edge_weight =
          dataset.edge_attr = {};
      prepare(std::move(graph));
    }
    if (over) task.partition = over->partition;
    find_majority(dataset, task);
    task.num_nodes = dataset.num_nodes;
    task.split_sizes = {dataset.split.train.numel(), dataset.split.val.numel(), dataset.split.test.numel()};
    const bool reads_rows = over && over->features;
    FeatureForm form = reads_rows ? FeatureForm::kDense : choose_feature_form(dataset, options, device);
    if (task.partition) dataset = rank_share(std::move(dataset), *task.partition);
    if (reads_rows) {
      dataset.x = over->features(task.partition->first_row(), task.partition->num_rows());
      dataset.num_features = dataset.x.dim(1);
      form = form_of_first_rank(dataset, options, device, over->ranks);
    }
    if (placing && !dataset.x_sparse.defined()) {
      PlacedFeatures placed = place_features(dataset, *placing, options, device, ranks);
      task.x = std::move(placed.chosen.x);
      task.features = std::move(placed.chosen.text);
      task.feature_norm = placed.chosen.row_norm;
      task.features_on_host = placed.on_host;
      task.disk_features = std::move(placed.disk);
      task.places = std::move(placed.places);
    } else {
      ChosenFeatures chosen = convert_features(dataset, options, form, device);
      task.x = std::move(chosen.x);
      task.features = std::move(chosen.text);
      task.feature_norm = chosen.row_norm;
      if (placing) task.places = placing->places.front().text;
    }
    if (drops_attr) task.features += "; edge features not used";
    task.label = dataset.y.to(device);
    task.split = {dataset.split.train.to(device), dataset.split.val.to(device),
                  dataset.split.test.to(device)};
  });
  task.convert_peak_bytes = memory_stats(device).peak;
  task.name = dataset.name;
  task.num_features = dataset.num_features;
  task.num_classes = dataset.num_classes;
  task.class_names = dataset.class_names;
  return task;
}

std::string metric_name(const NodeTask& task) {
  if (!task.metric.empty()) return task.metric;
  return task.label.rank() == 2 ? "micro-F1" : "accuracy";
}

Tensor in_file_order(const NodeTask& task, const Tensor& rows) {
  return task.order.defined() ? take(rows.to(kCpu), inverse_order(task.order)) : rows.to(kCpu);
}

}  // namespace rodeo
