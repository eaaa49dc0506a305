#include "train/task/memory_estimate.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <optional>
#include <vector>

#include "core/random.h"
#include "core/storage.h"
#include "core/text.h"
#include "core/threads.h"
#include "ops/convert.h"
#include "train/task/counted.h"
#include "train/task/model_registry.h"
#include "train/trainer.h"

namespace rodeo {
namespace {

constexpr std::int64_t kMinNodes = 64, kMaxNodes = 2048;  // nodes of the smaller graph
constexpr std::int64_t kNumbers = std::int64_t{4} << 20;  // elements of its widest array, about
constexpr double kPlenty = 64;  // upper bound on the arrays of that size that a step holds

std::int64_t widest(const NodeTask& task, const TrainOptions& o) {
  const bool heads = traits_of(o).heads;
  return std::max(task.num_features, o.hidden * (heads ? o.heads * std::max<std::int64_t>(1, o.layers) : 1));
}

double mean_degree(const NodeTask& task) {
  return static_cast<double>(task.num_edges) / static_cast<double>(std::max<std::int64_t>(1, task.num_nodes));
}

/// Sparse features with as many entries per row as those of the task.
SparseFeatures small_features(const NodeTask& task, std::int64_t n) {
  const std::int64_t rows =
      std::max<std::int64_t>(1, task.partition ? task.partition->num_rows() : task.num_nodes);
  const std::int64_t entries_per_row = (task.x.values().numel() + rows - 1) / rows;
  std::vector<std::int64_t> indptr;
  std::vector<std::int32_t> indices;
  for (std::int64_t i = 0; i <= n; ++i) indptr.push_back(i * entries_per_row);
  for (std::int64_t i = 0; i < n * entries_per_row; ++i)
    indices.push_back(static_cast<std::int32_t>(i % task.num_features));
  return {Tensor::from(indptr), Tensor::from(indices), Tensor::full({n * entries_per_row}, 0.5)};
}

/// n nodes with features and labels of the task's shape, and random edges.
Dataset small_copy(const NodeTask& task, std::int64_t n, bool symmetric) {
  Dataset small;
  small.name = task.name;
  small.num_nodes = n;
  small.num_features = task.num_features;
  small.num_classes = task.num_classes;
  if (task.x.is_sparse())
    small.x_sparse = small_features(task, n);
  else
    small.x = Tensor::full({n, task.num_features}, 0.5);
  small.y = task.label.rank() == 2 ? Tensor::full({n, task.num_classes}, 1, task.label.dtype())
                                   : Tensor::zeros({n}, DType::kI64);
  const auto edges = static_cast<std::int64_t>(std::llround(mean_degree(task) * static_cast<double>(n)));
  std::vector<std::int64_t> src, dst;
  for (std::int64_t e = 0; e < edges; ++e) {
    const auto end = [&](std::uint64_t which) {
      return static_cast<std::int64_t>(random_word(which, 0, static_cast<std::uint64_t>(e)) %
                                       static_cast<std::uint64_t>(n));
    };
    src.push_back(end(1));
    dst.push_back(end(2));
    if (!symmetric || ++e == edges) continue;
    src.push_back(dst.back());
    dst.push_back(src[src.size() - 2]);
  }
  small.src = Tensor::from(src);
  small.dst = Tensor::from(dst);
  if (task.num_edge_features > 0)
    small.edge_attr = Tensor::zeros({small.src.numel(), task.num_edge_features});
  const Tensor nodes = counted(n);
  const auto trained =
      static_cast<std::int64_t>(static_cast<double>(task.split_sizes[0]) /
                                static_cast<double>(task.num_nodes) * static_cast<double>(n));
  small.split = {nodes.slice(0, std::clamp<std::int64_t>(trained, 1, n)), nodes, nodes};
  return small;
}

/// Some CPU operators allocate memory per thread, which would dominate on a small graph. With one thread, the
/// estimate is also the same on every machine.
struct OneThread {
  const int before = num_threads();
  OneThread() { set_num_threads(1); }
  ~OneThread() { set_num_threads(before); }
};

double measure(const NodeRun& run, TrainOptions options, std::int64_t n, bool symmetric) {
  const OneThread one_thread;
  options.undirected = false;
  options.batch = 0;
  options.split.clear();
  // The small graph has one class.
  options.metric = NodeMetric::kAccuracy;
  options.class_weights.clear();
  options.reorder = NodeOrder::kNone;
  options.features = run.task.x.is_sparse() ? FeatureForm::kSparse : FeatureForm::kDense;
  // Avoids timing SpMM algorithms for the small graph.
  options.spmm = SpmmAlgorithm::kRode;
  options.spmm_accumulate = Accumulate::kOrdered;  // the only one on the CPU
  const NodeRun small = make_run(small_copy(run.task, n, symmetric), options, kCpu);
  const std::int64_t before = memory_stats(kCpu).current;
  Trainer trainer = make_trainer(small, {.epochs = 2, .warmup_epochs = 0, .profile_every = 0});
  return static_cast<double>(trainer.fit().peak_bytes - before);
}

/// Rows of other ranks that a product of the run's widest layer reads: received for each product and freed
/// after it, but kept for backward by those that read them again there.
double received_bytes(const NodeTask& task, const TrainOptions& o) {
  if (!task.partition) return 0;
  const bool heads = traits_of(o).heads;
  const auto rows = static_cast<double>(task.num_nodes - task.partition->num_rows());
  const auto columns = static_cast<double>(std::max(task.num_classes, o.hidden * (heads ? o.heads : 1)));
  const double kept = (heads ? std::max(1, o.layers) : 1) +
                      (o.task == TaskKind::kLink ? 2 : 0);  // embeddings that decoders read, their gradient
  return rows * columns * static_cast<double>(size_of(activation_dtype(o.precision))) * kept;
}

std::int64_t extrapolate(const NodeRun& run, const TrainOptions& options) {
  const NodeTask& task = run.task;
  const double elements_per_node = std::max(static_cast<double>(widest(task, options)), mean_degree(task));
  const std::int64_t n =
      std::clamp(static_cast<std::int64_t>(kNumbers / elements_per_node), kMinNodes, kMaxNodes);
  // A graph of mini-batches may be too large for its transpose.
  const bool symmetric = task.partition || run.model.mini_batches
                             ? options.undirected || task.one_way_edges == 0
                             : transpose_pattern(run.model.adj) == run.model.adj;
  const double one = measure(run, options, n, symmetric), two = measure(run, options, 2 * n, symmetric);
  const double bytes_per_node = (two - one) / static_cast<double>(n);
  const std::int64_t nodes = task.partition ? task.partition->num_rows() : task.num_nodes;
  return static_cast<std::int64_t>(std::max(0.0, one + bytes_per_node * static_cast<double>(nodes - n)) +
                                   received_bytes(task, options));
}

}  // namespace

std::optional<std::int64_t> estimate_step_bytes(const NodeRun& run, const TrainOptions& options) {
  try {
    return extrapolate(run, options);
  } catch (const OutOfMemory&) {
    return {};
  } catch (const std::bad_alloc&) {
    return {};
  }
}

std::string memory_warning(const NodeRun& run, const TrainOptions& options) {
  // Sets of graphs and relations have no small copy to measure.
  if (options.task == TaskKind::kGraph || has_relations(options)) return {};
  const Device device = run.model.module->parameters().front().device();
  const MemoryRoom room = memory_room(device);
  const double most =  // over ranks: of all of them
      kPlenty * 4 *
      (static_cast<double>(run.task.num_nodes) * static_cast<double>(widest(run.task, options)) +
       static_cast<double>(run.task.num_edges) * static_cast<double>(options.heads));
  if (most < static_cast<double>(room.free)) return {};
  const std::int64_t host_free = memory_room(kCpu).free;
  const std::optional<std::int64_t> needed = estimate_step_bytes(run, options);
  if (!needed)
    return str(
        "the memory of an epoch is not known: two small graphs that are trained to estimate it need "
        "more than the ",
        format_bytes(static_cast<double>(host_free)), " that cpu has free",
        device.is_cuda() ? "" : ": try " + memory_advice(options, false));
  constexpr double kUsable = 0.9;  // of the free memory; the rest is for the allocator and libraries
  if (static_cast<double>(*needed) < kUsable * static_cast<double>(room.free)) return {};
  return str("an epoch will hold about ", format_bytes(static_cast<double>(*needed)), ", and ", device,
             " has ", format_bytes(static_cast<double>(room.free)), " free: try ",
             memory_advice(options, device.is_cuda()));
}

std::string memory_advice(const TrainOptions& o, bool cuda) {
  const ConvTraits& traits = traits_of(o);
  std::vector<std::string> advice;
  const auto add = [&](const std::string& text) { advice.push_back(text); };
  if (traits.attention_form && o.attention == AttentionForm::kComposed) add("--attention fused");
  if (o.batch > 1) add(str("--batch below ", o.batch));
  if (o.batch > 0 && !o.batch_by_parts && !traits.hops) add("a smaller --fanout");
  if (o.batch > 0 && cuda && !has_relations(o) && o.features_on != FeaturesOn::kHost &&
      o.features_on != FeaturesOn::kDisk)
    add("--features-on host");
  if (o.batch == 0 && !traits.hops && o.task != TaskKind::kGraph)
    add(cuda && !has_relations(o) ? "--batch N, with --features-on host if the features do not fit"
                                  : "--batch N");
  if (o.task == TaskKind::kGraph && o.batch_graphs > 2) add(str("--batch-graphs below ", o.batch_graphs));
  if (traits.hidden_layers() && o.hidden > 1) add(str("--hidden below ", o.hidden));
  if (traits.heads && o.heads > 1) add(str("--heads below ", o.heads));
  if (traits.hidden_layers() && o.layers > 2) add(str("--layers below ", o.layers));
  if (o.undirected) add("the graph without --undirected");
  if (o.precision != Precision::kBf16) add("--precision bf16");
  if (cuda && o.cuda_graph) add("--no-cuda-graph");
  if (cuda) add("--device cpu");
  return advice.empty() ? "a machine with more memory" : join(advice);
}

}  // namespace rodeo
