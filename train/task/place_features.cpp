#include "train/task/place_features.h"

#include <fmt/format.h>

#include <utility>

#include "datasets/feature_file.h"
#include "datasets/feature_rows.h"
#include "train/task/host_features.h"

namespace rodeo {
namespace {

Placing place(TrainOptions options, const BatchGraph& graph, bool dense, Device device,
              const std::string& name, const std::string& file, std::string not_on_disk,
              const Communicator& ranks) {
  const FeaturesOn on = options.features_on;
  check(dense || (on != FeaturesOn::kHost && on != FeaturesOn::kDisk), name, ": --features-on ",
        rodeo::name(on), " is for dense features, and those of the file are sparse");
  if (!dense) options.features_on = FeaturesOn::kDevice;
  if (options.reorder != NodeOrder::kNone) not_on_disk = "--reorder gives the nodes another order";
  const BatchRoom room = batch_room(device, std::move(not_on_disk), ranks);
  Placing out{choose_places(options, batch_needs(graph, options), room), file};
  if (ranks.size() > 1) out.places.resize(1);
  return out;
}

PlacedFeatures convert_at(const BatchPlaces& at, Dataset& dataset, const std::string& file,
                          const TrainOptions& options, Device device, const Communicator& ranks) {
  PlacedFeatures out{{}, at.features == FeaturesOn::kHost, {}, at.text};
  const std::int64_t rows = dataset.num_nodes, columns = dataset.num_features;
  if (at.features == FeaturesOn::kDisk) {
    const DType dtype = activation_dtype(options.precision);
    out.disk = std::make_shared<DiskFeatures>(file, options.normalize_features, dtype, device);
    out.chosen = {Features(Tensor::empty({0, columns}, dtype, device)),
                  fmt::format("dense, {} x {}", rows, columns), Statistics::kNone};
    return out;
  }
  if (dataset.x.defined() && at.features == FeaturesOn::kDevice && !at.in_pieces) {
    out.chosen = convert_features(dataset, options, FeatureForm::kDense, device);
    return out;
  }
  const Tensor x = std::exchange(dataset.x, {});
  const auto piece = [&](std::int64_t begin, std::int64_t end) {
    return x.defined() ? x.slice(begin, end) : load_feature_rows(file, begin, end - begin);
  };
  out.chosen = out.on_host ? features_of_host(piece, rows, columns, options, device, ranks)
                           : features_in_pieces(piece, rows, columns, options, device);
  return out;
}

}  // namespace

Placing place_file(const TrainOptions& options, Device device, const Communicator& ranks) {
  const std::string& file = options.dataset;
  const bool dense = has_dense_features(file);
  return place(options, read_batch_graph(file), dense, device, file, file,
               dense ? feature_file_reason(file) : "they are sparse", ranks);
}

Placing place_dataset(const Dataset& dataset, const TrainOptions& options, Device device,
                      const Communicator& ranks) {
  const BatchGraph graph{.nodes = dataset.num_nodes,
                         .edges = dataset.num_edges(),
                         .features = dataset.num_features,
                         .edge_features = dataset.edge_attr.defined() ? dataset.edge_attr.dim(1) : 0,
                         .weighted = dataset.edge_weight.defined()};
  return place(options, graph, dataset.x.defined(), device, dataset.name, "", "the graph is not in a file",
               ranks);
}

bool loads_features(const Placing& placing, const TrainOptions& options) {
  const BatchPlaces& at = placing.places.front();
  return options.reorder != NodeOrder::kNone || !has_dense_features(placing.file) ||
         (at.features == FeaturesOn::kDevice && at.graph == GraphOn::kDevice && !at.in_pieces);
}

PlacedFeatures place_features(Dataset& dataset, const Placing& placing, const TrainOptions& options,
                              Device device, const Communicator& ranks) {
  const bool can_repeat = !placing.file.empty() && options.reorder == NodeOrder::kNone;
  std::vector<BatchPlaces> places = placing.places;
  std::erase_if(places, [&](const BatchPlaces& at) { return at.graph != placing.places.front().graph; });
  for (std::size_t i = 0;; ++i) try {
      return convert_at(places[i], dataset, placing.file, options, device, ranks);
    } catch (const OutOfMemory&) {
      if (!can_repeat || i + 1 == places.size()) throw;
      synchronize(device);
    }
}

}  // namespace rodeo
