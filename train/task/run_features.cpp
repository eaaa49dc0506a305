#include "train/task/run_features.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "core/device.h"
#include "datasets/feature_rows.h"
#include "ops/all_gather.h"
#include "train/task/disk_features.h"
#include "train/task/feature_scale.h"
#include "train/task/host_features.h"

namespace rodeo {
namespace {

void add(NodeTask& task, ChosenFeatures chosen) {
  task.x = std::move(chosen.x);
  task.features = std::move(chosen.text) + "; " + task.feature_scale.text;
}

/// Gives every rank the rows of all.
void share(NodeTask& task) {
  const NodePartition& nodes = *task.partition;
  task.x = Features(all_gather(nodes, task.x.input().value()), nodes.first_row(), nodes.num_rows());
  task.features += "; of all nodes on each rank";
}

ChosenFeatures convert_at(const MemoryTiers& at, NodeTask& task, Dataset& dataset, const std::string& file,
                          const TrainOptions& options, Device device, const Communicator& ranks) {
  const std::int64_t rows = dataset.num_nodes, columns = dataset.num_features;
  const FeatureScale& scale = task.feature_scale;
  if (at.features == FeaturesOn::kDisk) {
    const DType dtype = activation_dtype(options.precision);
    task.disk_features = std::make_shared<DiskFeatures>(file, scale, dtype, device);
    return {Features(Tensor::empty({0, columns}, dtype, device)),
            fmt::format("dense, {} x {}", rows, columns)};
  }
  if (dataset.x.defined() && at.features == FeaturesOn::kDevice && !at.in_pieces)
    return convert_features(dataset, scale, options, FeatureForm::kDense, device);
  const FeatureRows from{std::exchange(dataset.x, {}), file};
  if (at.features == FeaturesOn::kPeers) {
    task.feature_rows = equal_parts(rows, ranks);
    const NodePartition& own = *task.feature_rows;
    ChosenFeatures out =
        features_in_pieces(from, own.first_row(), own.num_rows(), columns, scale, options, device);
    out.text = fmt::format("dense, {} x {}", rows, columns);
    return out;
  }
  task.features_on_host = at.features == FeaturesOn::kHost;
  if (task.features_on_host) return features_of_host(from, rows, columns, scale, options, device, ranks);
  return from.x.defined() ? features_in_pieces(from, 0, rows, columns, scale, options, device)
                          : features_of_ranks(from, rows, columns, scale, options, device, ranks);
}

/// Dense features of mini-batches.
void add_batch_features(NodeTask& task, Dataset& dataset, const RunPlan& plan, const TrainOptions& options,
                        const Communicator& ranks) {
  const std::string file = plan.data.has_rows_in_file() ? plan.data.where : std::string();
  const bool can_repeat = plan.data.has_rows_in_file() && plan.order == NodeOrder::kNone;
  std::vector<MemoryTiers> tiers = plan.tiers;
  std::erase_if(tiers, [&](const MemoryTiers& at) { return at.graph != plan.tiers.front().graph; });
  for (std::size_t i = 0;; ++i) try {
      add(task, convert_at(tiers[i], task, dataset, file, options, plan.device, ranks));
      task.places = tiers[i].text;
      return;
    } catch (const OutOfMemory&) {
      if (!can_repeat || i + 1 == tiers.size()) throw;
      task.features_on_host = false;
      synchronize(plan.device);
    }
}

/// The plan's form; where that depends on the density, by a sample of the rows. The first rank has nodes, and
/// chooses for all.
FeatureForm form_of(const Dataset& dataset, const RunPlan& plan, TrainOptions options, FeatureScaling scaling,
                    const Communicator& ranks) {
  if (plan.form != FeatureForm::kAuto) return plan.form;
  options.normalize_features = scaling;
  DataHeader data = plan.data;
  data.features = dataset.num_features;
  if (dataset.x.defined())
    data.entries =
        static_cast<double>(data.nodes) * static_cast<double>(data.features) * sampled_density(dataset.x);
  const bool sparse = choose_form(options, data, plan.device) == FeatureForm::kSparse;
  const Tensor choice = Tensor::from(std::vector<std::int32_t>{sparse ? 1 : 0}, plan.device);
  if (plan.partitioned) ranks.broadcast(choice);
  return choice.item() != 0 ? FeatureForm::kSparse : FeatureForm::kDense;
}

}  // namespace

void add_features(NodeTask& task, Dataset& dataset, const RunPlan& plan, const TrainOptions& options,
                  const Communicator& ranks) {
  const MemoryTiers& at = plan.tiers.front();
  if (at.read == FeatureRead::kOwnRows) {
    const NodePartition& nodes = *task.partition;
    dataset.x = load_feature_rows(plan.data.where, nodes.first_row(), nodes.num_rows());
    dataset.num_features = dataset.x.dim(1);
  }
  const bool over_all = plan.task == TaskKind::kLink || task.split_sizes[0] == 0;
  const bool stays_sparse =
      plan.form == FeatureForm::kSparse || (plan.form == FeatureForm::kAuto && dataset.x_sparse.defined());
  task.feature_scale = make_feature_scale(
      dataset, plan.data.has_rows_in_file() ? plan.data.where : std::string(),
      over_all ? Tensor() : dataset.split.train, options, plan.device, ranks, plan.partitioned, stays_sparse);
  if (!task.feature_scale.warning.empty()) task.warnings.push_back(task.feature_scale.warning);
  if (options.batch > 0 && plan.data.form == FeatureForm::kDense) {
    add_batch_features(task, dataset, plan, options, ranks);
  } else {
    const FeatureForm form = form_of(dataset, plan, options, task.feature_scale.scaling, ranks);
    add(task, convert_features(dataset, task.feature_scale, options, form, plan.device));
    if (plan.shares_features && !task.x.is_sparse()) share(task);
    task.places = at.text;
  }
  if (plan.data.edge_features >= 0 && !options.edge_features) task.features += "; edge features not used";
}

}  // namespace rodeo
