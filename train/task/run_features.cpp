#include "train/task/run_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/device.h"
#include "datasets/feature_rows.h"
#include "ops/all_gather.h"
#include "ops/peer_rows.h"
#include "train/task/disk_features.h"
#include "train/task/feature_scale.h"

namespace rodeo {
namespace {

constexpr std::int64_t kPieceElements = std::int64_t{1} << 24;  // of a piece that is converted

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

/// convert_pieces() of all rows, on every rank: each converts a part of every piece.
void convert_over_ranks(const FeatureRows& from, const Tensor& to, const FeatureScale& scale,
                        const TrainOptions& options, const Communicator& ranks) {
  const std::int64_t rows = to.dim(0), columns = to.dim(1),
                     piece = ranks.size() * std::max<std::int64_t>(1, kPieceElements / columns);
  for (std::int64_t begin = 0; begin < rows; begin += piece) {
    const std::int64_t end = std::min(rows, begin + piece);
    const auto parts = equal_parts(end - begin, ranks);
    const Tensor own = Tensor::empty({parts->num_rows(), columns}, to.dtype(), to.device());
    convert_pieces(from, begin + parts->first_row(), own, scale, options);
    to.slice(begin, end).copy_from(ranks.all_gather(own, parts->rows()));
  }
}

ChosenFeatures convert_at(const MemoryTiers& at, NodeTask& task, Dataset& dataset, const std::string& file,
                          const TrainOptions& options, Device device, const Communicator& ranks) {
  const Shape shape{dataset.num_nodes, dataset.num_features};
  const std::string text = fmt::format("dense, {} x {}", shape[0], shape[1]);
  const FeatureScale& scale = task.feature_scale;
  const DType dtype = activation_dtype(options.precision);
  const auto allocate = [&](std::int64_t rows) { return Tensor::empty({rows, shape[1]}, dtype, device); };
  if (at.features == FeaturesOn::kDisk) {
    task.disk_features = std::make_shared<DiskFeatures>(file, scale, dtype, device);
    return {Features(allocate(0)), text};
  }
  if (dataset.x.defined() && at.features == FeaturesOn::kDevice && !at.in_pieces)
    return convert_features(dataset, scale, options, FeatureForm::kDense, device);
  const FeatureRows from{std::exchange(dataset.x, {}), file};
  Tensor x;
  if (at.features == FeaturesOn::kPeers) {
    task.feature_rows = equal_parts(shape[0], ranks);
    x = allocate(task.feature_rows->num_rows());
    convert_pieces(from, task.feature_rows->first_row(), x, scale, options);
  } else if (at.features == FeaturesOn::kHost) {
    task.features_on_host = true;
    x = page_locked_of_host(shape, dtype, device, ranks);
    convert_pieces(from, 0, x, scale, options, ranks_of_host(ranks));
    synchronize(device);
    ranks.barrier();  // then all rows are there
  } else {
    x = allocate(shape[0]);
    if (from.x.defined() || ranks.size() == 1)
      convert_pieces(from, 0, x, scale, options);
    else
      convert_over_ranks(from, x, scale, options, ranks);
  }
  return {Features(x), text};
}

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

void convert_pieces(const FeatureRows& from, std::int64_t first, const Tensor& to, const FeatureScale& scale,
                    const TrainOptions& options, const HostRanks& host) {
  const std::int64_t rows = to.dim(0), columns = std::max<std::int64_t>(1, to.dim(1));
  const std::int64_t piece = std::clamp<std::int64_t>(kPieceElements / columns, 1, rows / host.size + 1);
  for (std::int64_t begin = host.rank * piece; begin < rows; begin += host.size * piece) {
    const std::int64_t end = std::min(rows, begin + piece);
    Dataset part;
    part.x = from.read(first + begin, first + end);
    const ChosenFeatures some = convert_features(part, scale, options, FeatureForm::kDense, to.device());
    to.slice(begin, end).copy_from(some.x.input().value());
  }
}

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
