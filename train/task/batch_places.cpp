#include "train/task/batch_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "core/device.h"
#include "core/rank_memory.h"
#include "datasets/hdf5_file.h"
#include "train/precision.h"
#include "train/task/model_registry.h"

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
    {FeaturesOn::kHost, GraphOn::kDevice},   {FeaturesOn::kHost, GraphOn::kHost},
    {FeaturesOn::kDisk, GraphOn::kDevice},   {FeaturesOn::kDisk, GraphOn::kHost},
};

bool is_at_most(std::int64_t bytes, double share, std::int64_t room) {
  return static_cast<double>(bytes) <= share * static_cast<double>(room);
}

/// Bytes that stay where they are put.
struct Held {
  std::int64_t device = 0, host = 0;
};
Held held(const Pair& at, const BatchNeeds& needs, const BatchRoom& room) {
  Held out{needs.beside, 0};
  (at.graph == GraphOn::kDevice ? out.device : out.host) += needs.graph;
  if (at.features == FeaturesOn::kDevice) out.device += needs.features;
  if (at.features == FeaturesOn::kHost) out.host += needs.features / room.ranks;
  return room.cuda ? out : Held{out.device + out.host, 0};
}

bool fits_host(const Pair& at, const BatchNeeds& needs, const BatchRoom& room) {
  const bool builds =
      at.graph == GraphOn::kDevice || is_at_most(needs.graph + needs.graph_building, kBuilding, room.host);
  return builds && is_at_most(held(at, needs, room).host, kHeldByHost, room.host);
}

bool fits(const Pair& at, const BatchNeeds& needs, const BatchRoom& room) {
  const bool builds =
      at.graph == GraphOn::kHost || is_at_most(needs.beside + needs.graph_building, kBuilding, room.device);
  return builds && fits_host(at, needs, room) && is_at_most(held(at, needs, room).device, kHeld, room.device);
}

std::string gib(std::int64_t bytes) {
  return format_bytes(static_cast<double>(bytes));
}

std::string place(FeaturesOn features, bool cuda) {
  if (features == FeaturesOn::kDisk) return "in the file";
  return features == FeaturesOn::kDevice && cuda ? "on the device" : "in host memory";
}

std::string describe(const BatchPlaces& at, bool is_auto, const BatchNeeds& needs, const BatchRoom& room) {
  const std::string graph = at.graph == GraphOn::kDevice && room.cuda ? "on the device" : "in host memory";
  std::string text = fmt::format("graph {}, features {}", graph, place(at.features, room.cuda));
  if (!is_auto) return text;
  text += fmt::format(" (auto: they take {} and {}; ", gib(needs.graph), gib(needs.features));
  if (room.cuda) text += fmt::format("the device has {} free, ", gib(room.device));
  text += fmt::format("the host {}{}", gib(room.host), room.cuda ? "" : " free");
  return text + (room.ranks > 1 ? " for each rank)" : ")");
}

}  // namespace

BatchNeeds batch_needs(const BatchGraph& g, const TrainOptions& o) {
  const auto element = static_cast<std::int64_t>(size_of(activation_dtype(o.precision)));
  const std::int64_t given = g.edges * (o.undirected ? 2 : 1), loops = g.nodes, edges = given + loops;
  const std::int64_t attr = o.edge_features ? g.edge_features : 0;
  constexpr std::int64_t kIds = 8;  // of an edge list; CSR has half of it
  BatchNeeds out;
  out.graph = 8 * (g.nodes + 1) + edges * (4 + (g.weighted ? 4 : 0) + 4 * attr);
  // The edge list, and keys that are sorted from one array to another; with weights their places, too.
  const std::int64_t sorted = given * (g.weighted || attr > 0 ? 32 : 16);
  out.graph_building = out.graph + g.edges * (kIds + (g.weighted ? 4 : 0) + 4 * attr) + sorted;
  const std::int64_t values = g.nodes * g.features;
  out.features = values * element;
  out.features_building = values * (o.normalize_features ? 8 : element == 4 ? 4 : 4 + element);
  out.beside = 12 * g.nodes;
  if (!o.eval_sampled)  // input and output of a hidden layer, for all nodes
    out.beside += 2 * g.nodes * o.hidden * (traits_of(o).heads ? o.heads : 1) * element;
  return out;
}

std::vector<BatchPlaces> choose_places(const TrainOptions& o, const BatchNeeds& needs,
                                       const BatchRoom& room) {
  check(o.features_on != FeaturesOn::kDisk || room.not_on_disk.empty(),
        "--features-on disk: ", room.not_on_disk);
  const bool is_auto = o.features_on == FeaturesOn::kAuto || (room.cuda && o.graph_on == GraphOn::kAuto);
  std::vector<Pair> allowed;
  for (const Pair& at : kFromFastToSlow) {
    const GraphOn graph = room.cuda ? o.graph_on : GraphOn::kDevice;
    if ((o.features_on == FeaturesOn::kAuto || o.features_on == at.features) &&
        (graph == GraphOn::kAuto || graph == at.graph) &&
        (at.features != FeaturesOn::kDisk || room.not_on_disk.empty()))
      allowed.push_back(at);
  }
  auto first = std::ranges::find_if(allowed, [&](const Pair& at) { return fits(at, needs, room); });
  if (first == allowed.end()) {  // as little as possible on the device; batches may be small enough
    const auto device_bytes = [&](const Pair& at) { return held(at, needs, room).device; };
    const std::int64_t least = std::ranges::min(allowed | std::views::transform(device_bytes));
    first = std::ranges::find_if(
        allowed, [&](const Pair& at) { return device_bytes(at) == least && fits_host(at, needs, room); });
  }
  if (first == allowed.end()) {
    first = allowed.end() - 1;
    check(o.features_on != FeaturesOn::kAuto || first->features == FeaturesOn::kDisk ||
              needs.features / room.ranks <= room.host,
          "--features-on auto: the features take ", gib(needs.features), ", and the host has ",
          gib(room.host * room.ranks), " free. They cannot stay on disk: ", room.not_on_disk);
  }
  std::vector<BatchPlaces> out;
  for (auto at = first; at != allowed.end(); ++at) {
    if (at->graph == GraphOn::kDevice && first->graph == GraphOn::kHost) continue;  // there is no room
    BatchPlaces places{at->features, at->graph, false, {}};
    const std::int64_t held = needs.beside + (at->graph == GraphOn::kDevice ? needs.graph : 0);
    places.in_pieces = at->features == FeaturesOn::kDevice &&
                       !is_at_most(held + needs.features_building, kBuilding, room.device);
    places.text = describe(places, is_auto, needs, room);
    out.push_back(std::move(places));
  }
  return out;
}

BatchGraph read_batch_graph(const std::string& path) {
  const Hdf5File file(path);
  const auto sizes = [&](const char* name) { return file.has(name) ? file.array(name).shape() : Shape{}; };
  BatchGraph out;
  const Shape x = sizes("x"), edges = sizes("edge_index"), csr = sizes("indices"), attr = sizes("edge_attr");
  const Shape sparse = sizes("x_indptr");
  if (sparse.rank() == 1) out.nodes = sparse[0] - 1, out.features = file.integer("num_features").value_or(0);
  if (x.rank() == 2) out.nodes = x[0], out.features = x[1];
  if (edges.rank() == 2) out.edges = edges[1];
  if (csr.rank() == 1) out.edges = csr[0];
  if (attr.rank() == 2) out.edge_features = attr[1];
  out.weighted = file.has("edge_weight");
  return out;
}

BatchRoom batch_room(Device device, std::string not_on_disk, const Communicator& ranks) {
  BatchRoom room{device.is_cuda(), memory_room(device).free, memory_room(kCpu).free, std::move(not_on_disk)};
  if (ranks.size() == 1) return room;
  room.ranks = ranks_of_host(ranks).size;
  const auto parts = static_cast<std::int64_t>(room.ranks);
  const std::vector<std::int64_t> own{-(room.cuda ? room.device : room.device / parts), -(room.host / parts),
                                      parts};
  const Tensor worst = Tensor::from(own);
  ranks.all_reduce(worst, Reduction::kMax);
  const std::vector<std::int64_t> all = worst.to_vector<std::int64_t>();
  room.device = -all[0], room.host = -all[1], room.ranks = static_cast<int>(all[2]);
  return room;
}

}  // namespace rodeo
