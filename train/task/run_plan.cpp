#include "train/task/run_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/memory_stats.h"
#include "ops/features.h"
#include "train/precision.h"

namespace rodeo {
namespace {

constexpr double kHeld = 0.6, kBuilding = 0.9, kHeldByHost = 0.8;  // of what is free

struct Pair {
  FeaturesOn features;
  GraphOn graph;
};
// From fast to slow. A batch reads more bytes of features than of the graph.
constexpr Pair kFromFastToSlow[] = {
    {FeaturesOn::kDevice, GraphOn::kDevice}, {FeaturesOn::kDevice, GraphOn::kHost},
    {FeaturesOn::kPeers, GraphOn::kDevice},  {FeaturesOn::kPeers, GraphOn::kHost},
    {FeaturesOn::kHost, GraphOn::kDevice},   {FeaturesOn::kHost, GraphOn::kHost},
    {FeaturesOn::kDisk, GraphOn::kDevice},   {FeaturesOn::kDisk, GraphOn::kHost},
    {FeaturesOn::kDevice, GraphOn::kPeers},  {FeaturesOn::kPeers, GraphOn::kPeers},
    {FeaturesOn::kHost, GraphOn::kPeers},    {FeaturesOn::kDisk, GraphOn::kPeers},
};

bool is_at_most(std::int64_t bytes, double fraction, std::int64_t room) {
  return static_cast<double>(bytes) <= fraction * static_cast<double>(room);
}

/// Bytes that stay where they are put.
struct Held {
  std::int64_t device = 0, host = 0;
};
Held held(const Pair& at, const MemoryNeeds& needs, const Room& room) {
  Held out{needs.always, 0};
  if (at.graph == GraphOn::kPeers)
    out.device += needs.row_pointers + (needs.graph - needs.row_pointers) / room.ranks;
  else
    (at.graph == GraphOn::kDevice ? out.device : out.host) += needs.graph;
  if (at.features == FeaturesOn::kDevice) out.device += needs.features;
  if (at.features == FeaturesOn::kPeers) out.device += needs.features / room.ranks;
  if (at.features == FeaturesOn::kHost) out.host += needs.features / room.ranks_of_host;
  return room.device.is_cuda() ? out : Held{out.device + out.host, 0};
}

bool fits_host(const Pair& at, const MemoryNeeds& needs, const Room& room) {
  const std::int64_t parts = at.graph == GraphOn::kPeers ? room.ranks : 1;
  const bool builds = at.graph == GraphOn::kDevice ||
                      is_at_most((needs.graph + needs.graph_building) / parts, kBuilding, room.on_host);
  return builds && is_at_most(held(at, needs, room).host, kHeldByHost, room.on_host);
}

bool fits(const Pair& at, const MemoryNeeds& needs, const Room& room) {
  const bool builds = at.graph != GraphOn::kDevice ||
                      is_at_most(needs.always + needs.graph_building, kBuilding, room.on_device);
  return builds && fits_host(at, needs, room) &&
         is_at_most(held(at, needs, room).device, kHeld, room.on_device);
}

std::string gib(std::int64_t bytes) {
  return format_bytes(static_cast<double>(bytes));
}

std::string tier_text(const Pair& at, bool is_auto, const MemoryNeeds& needs, const Room& room) {
  const bool cuda = room.device.is_cuda();
  const std::string features =
      at.features == FeaturesOn::kDisk ? "in the file"
      : at.features == FeaturesOn::kPeers
          ? fmt::format("cut among {} ranks, {} each", room.ranks, gib(needs.features / room.ranks))
      : at.features == FeaturesOn::kDevice && cuda ? "on the device"
                                                   : "in host memory";
  const std::string graph = at.graph == GraphOn::kPeers ? fmt::format("cut among {} ranks", room.ranks)
                            : at.graph == GraphOn::kDevice && cuda ? "on the device"
                                                                   : "in host memory";
  std::string text = fmt::format("graph {}, features {}", graph, features);
  if (!is_auto) return text;
  text += fmt::format(" (auto: they take {} and {}; ", gib(needs.graph), gib(needs.features));
  if (cuda) text += fmt::format("the device has {} free, ", gib(room.on_device));
  text += fmt::format("the host {}{}", gib(room.on_host), cuda ? "" : " free");
  return text + (room.ranks_of_host > 1 ? " for each rank)" : ")");
}

/// Whether an epoch that propagates X W is cheaper than one that multiplies a kept S^K X, which is dense.
bool propagates_fast(const TrainOptions& options, const DataHeader& data) {
  constexpr double kSparsePerDense = 8;  // time of a multiplication in a sparse product, in a dense one 1
  const double sums = options.hops * static_cast<double>(data.edges + data.nodes);
  return kSparsePerDense * (sums + data.entries) <
         static_cast<double>(data.nodes) * static_cast<double>(data.features);
}

GraphInput graph_input(const TrainOptions& options) {
  const GraphInput input = traits_of(options).graph;
  if (input == GraphInput::kPlain && options.sage_loops) return GraphInput::kSelfLoops;
  return input == GraphInput::kSelfLoops && !options.self_loops ? GraphInput::kPlain : input;
}

/// Whether the first layer of a partitioned graph reads no features of other ranks if each rank has those of
/// all nodes. Without dropout it reads them once, and keeps their sum.
bool shares_features(const TrainOptions& o, const DataHeader& data, const Room& room) {
  constexpr std::int64_t kPart = 8;  // of the device: the features, and what is left of them by dropout
  const auto sums_first = traits_of(o).sums_first;
  const std::int64_t bytes =
      2 * data.nodes * data.features * static_cast<std::int64_t>(size_of(activation_dtype(o.precision)));
  return sums_first && sums_first(data.features, o.hidden) && data.form == FeatureForm::kDense &&
         data.features > 0 && o.layers > 1 && o.input_dropout.value_or(o.dropout) > 0 &&
         o.aggregation == Aggregation::kAuto && !uses_trunk(o) && kPart * bytes <= room.total_on_device;
}

constexpr const char* kMakesFeatures = ". --input-features degree, onehot, random or ones makes some";

/// What reading a file does not find out itself.
void check_data(const TrainOptions& options, const DataHeader& data) {
  check(!options.per_class || data.labels != LabelKind::kTargets,
        "--per-class is for classes, and the labels of ", data.where, " are numbers");
  check(data.form != FeatureForm::kDense || data.makes_features || data.features > 0 || data.nodes == 0,
        data.where, data.in_file ? ": /x" : ": x", " must have at least one feature", kMakesFeatures);
  if (options.task == TaskKind::kGraph) return;
  check(options.task != TaskKind::kLink || data.graphs == 0, data.where, ": is a set of ", data.graphs,
        " graphs, for --task graph: --task link predicts edges of one graph");
  check(!options.edge_features || data.edge_features >= 0, data.where,
        ": has no /edge_attr, which --edge-features reads");
  check(data.form != FeatureForm::kAuto, data.where,
        data.in_file ? ": /x is missing: training needs features [nodes, features]"
                     : ": has no features, and training needs them",
        kMakesFeatures);
  if (data.in_file) return;
  check(options.task != TaskKind::kNode || data.labels != LabelKind::kNone, data.where,
        ": has no labels of nodes", data.graphs > 0 ? ": it is a set of graphs, for task graph" : "");
}

void check_cut_graph(const TrainOptions& options, const DataHeader& data, int ranks) {
  check(ranks > 1,
        "--graph-on peers cuts the edges among several ranks, and this is one: start more with --gpus or "
        "--ranks, or give --graph-on device");
  const auto refuse = [](bool given, std::string_view what) {
    check(!given, "--graph-on peers is not for ", what, ": give --graph-on device or host");
  };
  refuse(options.task == TaskKind::kLink, "--task link, whose batches sample pairs of all edges");
  refuse(options.batch_by_parts, "--batch-by parts, which have all edges between their nodes");
  refuse(options.edge_features, "--edge-features, which are not sent with the edges");
  refuse(data.weighted && traits_of(options).graph == GraphInput::kGcnNorm,
         str("--model ", options.model, " with edge weights, which are not sent with the edges"));
}

std::vector<MemoryTiers> batch_tiers(TrainOptions options, const DataHeader& data, Room room, int ranks) {
  room.ranks = ranks;
  const bool dense = data.form == FeatureForm::kDense;
  const FeaturesOn on = options.features_on;
  check(dense || on == FeaturesOn::kAuto || on == FeaturesOn::kDevice, data.where, ": --features-on ",
        name(on), " is for dense features, and those of the file are sparse");
  check(
      on != FeaturesOn::kPeers || ranks > 1,
      "--features-on peers cuts the features among several ranks, and this is one: start more with --gpus or "
      "--ranks, or give --features-on device");
  if (options.graph_on == GraphOn::kPeers) check_cut_graph(options, data, ranks);
  if (!dense) options.features_on = FeaturesOn::kDevice;
  const bool keeps_order = options.reorder == NodeOrder::kNone;
  std::vector<MemoryTiers> tiers =
      choose_tiers(options, memory_needs(data, options), room,
                   keeps_order ? data.not_on_disk : "--reorder gives the nodes another order");
  if (ranks > 1) tiers.resize(1);
  for (MemoryTiers& at : tiers)
    if (data.has_rows_in_file() && keeps_order &&
        (ranks > 1 || at.features != FeaturesOn::kDevice || at.graph != GraphOn::kDevice || at.in_pieces))
      at.read = FeatureRead::kInPieces;
  return tiers;
}

}  // namespace

MemoryNeeds memory_needs(const DataHeader& data, const TrainOptions& o) {
  const auto element = static_cast<std::int64_t>(size_of(activation_dtype(o.precision)));
  const std::int64_t given = data.edges * (o.undirected ? 2 : 1), loops = data.nodes, edges = given + loops;
  const std::int64_t attr = o.edge_features ? std::max<std::int64_t>(0, data.edge_features) : 0;
  constexpr std::int64_t kIds = 8;  // of an edge list; CSR has half of it
  MemoryNeeds out;
  out.row_pointers = 8 * (data.nodes + 1);
  out.graph = out.row_pointers + edges * (4 + (data.weighted ? 4 : 0) + 4 * attr);
  // The edge list, and keys that are sorted from one array to another; with weights their positions, too.
  const std::int64_t sorted = given * (data.weighted || attr > 0 ? 32 : 16);
  out.graph_building = out.graph + data.edges * (kIds + (data.weighted ? 4 : 0) + 4 * attr) + sorted;
  const std::int64_t values = data.nodes * data.features;
  out.features = values * element;
  out.features_building = values * (o.normalize_features != FeatureScaling::kNone ? 8
                                    : element == 4                                ? 4
                                                                                  : 4 + element);
  out.always = 12 * data.nodes;
  if (!o.eval_sampled)  // input and output of a hidden layer, for all nodes
    out.always += 2 * data.nodes * o.hidden * (traits_of(o).heads ? o.heads : 1) * element;
  return out;
}

std::vector<MemoryTiers> choose_tiers(const TrainOptions& o, const MemoryNeeds& needs, const Room& room,
                                      const std::string& not_on_disk) {
  check(o.features_on != FeaturesOn::kDisk || not_on_disk.empty(), "--features-on disk: ", not_on_disk);
  const bool cuda = room.device.is_cuda();
  const bool is_auto = o.features_on == FeaturesOn::kAuto || (cuda && o.graph_on == GraphOn::kAuto);
  // GPUs of one host read each other faster than its memory. CPUs of one host share its memory.
  const bool has_peers = cuda && room.ranks > 1 && room.ranks_of_host == room.ranks;
  std::vector<Pair> allowed;
  for (const Pair& at : kFromFastToSlow) {
    const GraphOn graph = cuda || o.graph_on == GraphOn::kPeers ? o.graph_on : GraphOn::kDevice;
    if ((o.features_on == at.features ||
         (o.features_on == FeaturesOn::kAuto && (at.features != FeaturesOn::kPeers || has_peers))) &&
        (graph == at.graph || (graph == GraphOn::kAuto && at.graph != GraphOn::kPeers)) &&
        (at.features != FeaturesOn::kDisk || not_on_disk.empty()))
      allowed.push_back(at);
  }
  auto first = std::ranges::find_if(allowed, [&](const Pair& at) { return fits(at, needs, room); });
  if (first == allowed.end()) {  // as little as possible on the device; batches may be small enough
    const auto device_bytes = [&](const Pair& at) { return held(at, needs, room).device; };
    const std::int64_t least = device_bytes(*std::ranges::min_element(allowed, {}, device_bytes));
    first = std::ranges::find_if(
        allowed, [&](const Pair& at) { return device_bytes(at) == least && fits_host(at, needs, room); });
  }
  if (first == allowed.end()) {
    first = allowed.end() - 1;
    check(o.features_on != FeaturesOn::kAuto || first->features == FeaturesOn::kDisk ||
              needs.features / room.ranks_of_host <= room.on_host,
          "--features-on auto: the features take ", gib(needs.features), ", and the host has ",
          gib(room.on_host * room.ranks_of_host), " free. They cannot stay on disk: ", not_on_disk);
  }
  std::vector<MemoryTiers> out;
  for (auto at = first; at != allowed.end(); ++at) {
    if (at->graph == GraphOn::kDevice && first->graph == GraphOn::kHost) continue;  // there is no room
    const std::int64_t without_features = held({FeaturesOn::kDisk, at->graph}, needs, room).device;
    const bool in_pieces = at->features == FeaturesOn::kDevice &&
                           !is_at_most(without_features + needs.features_building, kBuilding, room.on_device);
    out.push_back({at->features, at->graph, in_pieces, tier_text(*at, is_auto, needs, room),
                   FeatureRead::kWithDataset});
  }
  return out;
}

FeatureForm choose_form(const TrainOptions& options, const DataHeader& data, Device device) {
  const std::string reason = dense_features_reason(options);
  if (options.features == FeatureForm::kSparse) {
    check(reason.empty(), "--features sparse: ", reason);
    return FeatureForm::kSparse;
  }
  if (options.features == FeatureForm::kDense || !reason.empty()) return FeatureForm::kDense;
  const double elements = static_cast<double>(data.nodes) * static_cast<double>(data.features);
  const bool stored_sparse = data.form == FeatureForm::kSparse;
  if (stored_sparse && data.entries > 0 && elements > 0 && data.entries >= elements * kSparseBelowOnCpu)
    return FeatureForm::kDense;  // on each device: what auto makes of the values depends on the form
  if (stored_sparse && !traits_of(options).keeps_propagated()) return FeatureForm::kSparse;
  if (data.entries < 0 || data.features == 0) return FeatureForm::kAuto;
  if (traits_of(options).keeps_propagated() && !propagates_fast(options, data)) return FeatureForm::kDense;
  const bool is_sparse =
      stored_sparse || data.entries < elements * (device.is_cuda() ? kSparseBelowOnCuda : kSparseBelowOnCpu);
  return is_sparse ? FeatureForm::kSparse : FeatureForm::kDense;
}

Device RunPlan::builds_on() const {
  return partitioned || tiers.front().graph != GraphOn::kDevice ? kCpu : device;
}

Device RunPlan::reads_to() const {
  // New orders, and splits of edges, are made on the host.
  return task != TaskKind::kNode || order != NodeOrder::kNone ? kCpu : builds_on();
}

RunPlan plan_run(const TrainOptions& options, const DataHeader& data, const Room& room, int ranks) {
  check_data(options, data);
  RunPlan plan{.data = data, .task = options.task, .device = room.device, .ranks = ranks};
  plan.order = options.reorder;
  plan.undirected = options.undirected;
  if (options.task == TaskKind::kGraph) {  // the classifier of graphs prepares its batches itself
    plan.form = FeatureForm::kDense;
    plan.tiers.resize(1);
    return plan;
  }
  plan.partitioned = ranks > 1 && options.batch == 0;
  check(!plan.partitioned || options.drop_edge == 0,
        "--drop-edge over ranks is for --batch: a whole graph is cut among them once");
  plan.graph = graph_input(options);
  plan.form = choose_form(options, data, room.device);
  if (options.batch > 0) {
    plan.tiers = batch_tiers(options, data, room, ranks);
    const bool reads_parts = ranks > 1 && data.in_file && options.task == TaskKind::kNode &&
                             !options.edge_features && !data.makes_features;
    if (reads_parts && plan.cuts_graph() && options.reorder == NodeOrder::kNone)
      plan.edges = EdgeRead::kExchanged;
    else if (reads_parts && data.edge_list)
      plan.edges = EdgeRead::kOfHost;
    return plan;
  }
  plan.tiers.resize(1);
  plan.shares_features = plan.partitioned && shares_features(options, data, room);
  if (plan.partitioned && data.in_file && options.task == TaskKind::kNode &&
      options.reorder == NodeOrder::kNone) {
    if (!options.edge_features && !data.makes_features) plan.edges = EdgeRead::kExchanged;
    if (data.has_rows_in_file()) plan.tiers.front().read = FeatureRead::kOwnRows;
  }
  return plan;
}

std::string describe(const RunPlan& plan) {
  const auto features = [&](const MemoryTiers& at) {
    if (at.features == FeaturesOn::kDisk) return "those features that a batch needs";
    const bool own = at.read == FeatureRead::kOwnRows ||
                     (at.features == FeaturesOn::kPeers && at.read == FeatureRead::kInPieces);
    return own                                 ? "the rank's rows of features"
           : at.read != FeatureRead::kInPieces ? "all features"
           : plan.ranks > 1                    ? "a part of the features"
                                               : "features in pieces";
  };
  std::string text;
  if (plan.ranks > 1)
    text += fmt::format("{} ranks, {}; ", plan.ranks,
                        plan.partitioned                ? "a range of the nodes each"
                        : plan.cuts_graph()             ? "a part of the graph each"
                        : plan.task == TaskKind::kGraph ? "all graphs each"
                                                        : "the whole graph each");
  text += fmt::format("read {} and {}", plan.edges == EdgeRead::kAll ? "all edges" : "a part of the edges",
                      features(plan.tiers.front()));
  if (plan.order != NodeOrder::kNone) text += fmt::format("; nodes in {} order", name(plan.order));
  text += fmt::format("; build the graph on {}", str(plan.builds_on()));
  if (plan.undirected) text += ", with reverse edges";
  if (plan.graph == GraphInput::kNoEdges) text += ", without edges";
  if (plan.graph == GraphInput::kSelfLoops) text += ", with self loops";
  if (plan.graph == GraphInput::kGcnNorm) text += ", with self loops and D^-1/2";
  text += plan.form == FeatureForm::kAuto ? std::string("; features dense or sparse, by a sample")
                                          : fmt::format("; features {}", name(plan.form));
  if (plan.shares_features && plan.form != FeatureForm::kSparse)
    text +=
        fmt::format("{} of all nodes on each rank", plan.form == FeatureForm::kAuto ? "; dense ones" : ",");
  if (const std::string& memory = plan.tiers.front().text; !memory.empty()) text += "; " + memory;
  for (std::size_t i = 1; i < plan.tiers.size(); ++i) {
    text += i == 1 ? "; if memory does not suffice: " : ", ";
    if (plan.device.is_cuda()) text += fmt::format("graph {} and ", name(plan.tiers[i].graph));
    text += fmt::format("features {}", name(plan.tiers[i].features));
  }
  return text;
}

}  // namespace rodeo
