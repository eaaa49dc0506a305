#include "train/task/data_source.h"

#include <utility>
#include <vector>

#include "core/device.h"
#include "core/over_ranks.h"
#include "core/rank_memory.h"
#include "datasets/edge_part.h"
#include "datasets/feature_file.h"
#include "datasets/feature_rows.h"
#include "datasets/hdf5_file.h"
#include "datasets/import.h"
#include "ops/dense_csr.h"

namespace rodeo {
namespace {

DataHeader read_file_header(const std::string& path) {
  const Hdf5File file(path);
  const auto shape = [&](const char* name) { return file.has(name) ? file.array(name).shape() : Shape{}; };
  DataHeader out{.where = path, .in_file = true};
  if (file.has("x")) {
    out.form = FeatureForm::kDense;
    if (const Shape x = shape("x"); x.rank() == 2) out.nodes = x[0], out.features = x[1];
    out.not_on_disk = feature_file_reason(path);
  } else if (file.has("x_indptr")) {
    out.form = FeatureForm::kSparse;
    if (const Shape rows = shape("x_indptr"); rows.rank() == 1) out.nodes = rows[0] - 1;
    if (const Shape entries = shape("x_indices"); entries.rank() == 1)
      out.entries = static_cast<double>(entries[0]);
    out.features = file.integer("num_features").value_or(0);
    out.not_on_disk = "they are sparse";
  }
  out.edge_list = file.has("edge_index");
  if (const Shape edges = shape("edge_index"); edges.rank() == 2) out.edges = edges[1];
  if (const Shape csr = shape("indices"); csr.rank() == 1) out.edges = csr[0];
  out.weighted = file.has("edge_weight");
  if (file.has("edge_attr")) {
    const Shape attr = shape("edge_attr");
    out.edge_features = attr.rank() == 2 ? attr[1] : 0;
  }
  if (const Shape graphs = shape("graph_ptr"); graphs.rank() == 1) out.graphs = graphs[0] - 1;
  if (file.has("y"))
    out.labels = is_float(file.array("y").dtype()) ? LabelKind::kTargets : LabelKind::kClasses;
  return out;
}

/// The edges of the file, in memory that the ranks of a host share: each reads a part of them.
void read_edges_of_host(Dataset& dataset, const std::string& path, const Communicator& ranks) {
  const HostRanks host = ranks_of_host(ranks);
  const EdgePart part = load_edge_part(path, dataset.num_nodes, host.rank, host.size);
  const std::int64_t edges = Hdf5File(path).array("edge_index").shape()[1];
  const std::int64_t first = edge_part_begin(edges, host.rank, host.size);
  const auto share = [&](const Tensor& own) {
    const Tensor all = page_locked_of_host({edges}, own.dtype(), kCpu, ranks);
    all.slice(first, first + own.numel()).copy_from(own);
    return all;
  };
  dataset.src = share(part.src), dataset.dst = share(part.dst);
  if (part.weight.defined()) dataset.edge_weight = share(part.weight);
  ranks.barrier();  // then all edges are there
}

}  // namespace

Tensor FeatureRows::read(std::int64_t begin, std::int64_t end) const {
  return x.defined() ? x.slice(begin, end) : load_feature_rows(file, begin, end - begin);
}

DataHeader header_of(const Dataset& dataset) {
  DataHeader out{.where = dataset.name};
  out.nodes = dataset.num_nodes;
  out.edge_list = dataset.src.defined();
  out.edges = dataset.src.defined() || dataset.indptr.defined() ? dataset.num_edges() : 0;
  out.features = dataset.num_features;
  out.graphs = dataset.num_graphs();
  if (dataset.edge_attr.defined()) out.edge_features = dataset.edge_attr.dim(1);
  out.weighted = dataset.edge_weight.defined();
  if (dataset.x.defined()) out.form = FeatureForm::kDense;
  if (dataset.x_sparse.defined()) {
    out.form = FeatureForm::kSparse;
    out.entries = static_cast<double>(dataset.x_sparse.num_entries());
  }
  if (dataset.y.defined()) out.labels = dataset.regression() ? LabelKind::kTargets : LabelKind::kClasses;
  out.not_on_disk = "the graph is not in a file";
  return out;
}

DataHeader read_header(const DataSource& source, InputFeatures made) {
  DataHeader out = source.in_file() ? read_file_header(source.file) : header_of(source.dataset);
  if (made == InputFeatures::kFile) return out;
  out.makes_features = true;
  out.not_on_disk = str("--input-features ", name(made), " makes them");
  const bool sparse = made == InputFeatures::kDegree || made == InputFeatures::kOnehot;
  out.form = sparse ? FeatureForm::kSparse : FeatureForm::kDense;
  out.entries = sparse ? static_cast<double>(out.nodes) : -1;
  out.features = made == InputFeatures::kOnehot ? out.nodes : 0;
  return out;
}

void add_input_features(Dataset& dataset, const TrainOptions& options, std::int64_t columns) {
  if (options.input_features == InputFeatures::kFile) return;
  dataset.x = {};
  dataset.x_sparse = {};
  make_features(dataset, name(options.input_features), columns);
}

Room measure_room(Device device, const Communicator& ranks) {
  Room room{device, memory_room(device).free, memory_room(kCpu).free};
  room.total_on_device = memory_room(device).total;
  if (ranks.size() == 1) return room;
  room.ranks_of_host = ranks_of_host(ranks).size;
  const auto fractions = static_cast<std::int64_t>(room.ranks_of_host);
  const std::vector<std::int64_t> own{
      -(device.is_cuda() ? room.on_device : room.on_device / fractions), -(room.on_host / fractions),
      fractions, -(device.is_cuda() ? room.total_on_device : room.total_on_device / fractions)};
  const std::vector<std::int64_t> all = over_ranks(ranks, own, Reduction::kMax);
  room.on_device = -all[0], room.on_host = -all[1], room.ranks_of_host = static_cast<int>(all[2]);
  room.total_on_device = -all[3];
  return room;
}

Dataset read_dataset(DataSource& source, const RunPlan& plan, const TrainOptions& options,
                     const Communicator& ranks) {
  Dataset dataset;
  if (source.in_file()) {
    const bool nodes = plan.task == TaskKind::kNode;
    dataset = load_dataset(source.file, {.need = nodes ? Need::kTraining : Need::kGraph,
                                         .features = plan.tiers.front().read == FeatureRead::kWithDataset &&
                                                     !plan.data.makes_features,
                                         .edges = plan.edges == EdgeRead::kAll,
                                         .split = nodes ? options.split : std::string(),
                                         .seed = options.seed,
                                         .device = plan.reads_to()});
    if (plan.edges == EdgeRead::kOfHost) read_edges_of_host(dataset, source.file, ranks);
  } else {
    dataset = std::exchange(source.dataset, {});
  }
  if (!options.edge_features) dataset.edge_attr = {};
  return dataset;
}

double sampled_density(const Tensor& x) {
  std::int64_t entries = 0, elements = 0;
  for_sampled_rows(x.dim(0), kSampledRows, [&](std::int64_t begin, std::int64_t end) {
    const Tensor sample = x.slice(begin, end);
    entries += dense_to_csr(sample).adj.num_edges();
    elements += sample.numel();
  });
  return elements == 0 ? 1 : static_cast<double>(entries) / static_cast<double>(elements);
}

}  // namespace rodeo
