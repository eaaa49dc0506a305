#include "datasets/hetero_dataset.h"

#include "datasets/hdf5/hetero_names.h"
#include "datasets/hdf5/write_dataset.h"

namespace rodeo {
namespace {

hdf5::HeteroNames names_of(const HeteroDataset& dataset) {
  hdf5::HeteroNames names;
  for (const Dataset& type : dataset.types) names.types.push_back(type.name);
  for (const HeteroRelation& relation : dataset.relations)
    names.relations.push_back({relation.name, relation.source, relation.target});
  names.target = dataset.target;
  return names;
}

}  // namespace

std::int64_t HeteroDataset::num_nodes() const {
  std::int64_t nodes = 0;
  for (const Dataset& type : types) nodes += type.num_nodes;
  return nodes;
}

std::int64_t HeteroDataset::num_edges() const {
  std::int64_t edges = 0;
  for (const HeteroRelation& relation : relations) edges += relation.num_edges();
  return edges;
}

int HeteroDataset::type_index(std::string_view type) const {
  for (std::size_t i = 0; i < types.size(); ++i)
    if (types[i].name == type) return static_cast<int>(i);
  return -1;
}

std::string HeteroDataset::relation_name(const HeteroRelation& relation) const {
  return types.at(static_cast<std::size_t>(relation.source)).name + ":" + relation.name + ":" +
         types.at(static_cast<std::size_t>(relation.target)).name;
}

void save_hetero_dataset(const HeteroDataset& dataset, const std::string& path) {
  const hdf5::HeteroNames names = names_of(dataset);
  hdf5::check_hetero_names(names, path);
  Hdf5Writer file(path);
  const auto lines = [](std::size_t count, auto&& line) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) text += '\n';
      text += line(i);
    }
    return text;
  };
  file.attribute("rodeo_schema", hdf5::kHeteroSchema);
  file.attribute("name", dataset.name);
  file.attribute("node_types", lines(names.types.size(), [&](std::size_t i) { return names.types[i]; }));
  file.attribute("relations",
                 lines(names.relations.size(), [&](std::size_t i) { return names.relation_name(i); }));
  if (dataset.target >= 0)
    file.attribute("target_type", names.types[static_cast<std::size_t>(dataset.target)]);
  for (std::size_t i = 0; i < dataset.types.size(); ++i) {
    file.enter(names.type_group(i));
    hdf5::write_attributes(file, dataset.types[i]);
    hdf5::write_nodes(file, dataset.types[i]);
  }
  for (std::size_t i = 0; i < dataset.relations.size(); ++i) {
    const HeteroRelation& relation = dataset.relations[i];
    check(relation.src.defined() && relation.dst.defined(), path, ": the relation ", names.relation_name(i),
          " has no edges: make them tensors of no elements");
    file.enter(names.relation_group(i));
    file.write_rows("edge_index", {relation.src, relation.dst}, hdf5::storage_of(2 * relation.src.nbytes()));
  }
  file.commit();
}

}  // namespace rodeo
