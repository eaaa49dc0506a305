/// rodeo._core.HeteroDataset. python/rodeo/hetero.py checks values and documents it.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "train.h"

namespace rodeo::python {
namespace {

using NamedType = std::pair<std::string, PyDataset>;
/// Index of the source type, name, index of the target type, ids of sources, ids of targets.
using GivenRelation = std::tuple<int, std::string, int, nb::object, nb::object>;

HeteroDataset load(const std::string& path, const std::string& split, std::uint64_t seed) {
  const Hdf5Lock lock(path);
  return load_hetero_dataset(path, {.split = split, .seed = seed, .all_splits = split.empty()});
}

HeteroDataset from_parts(const std::string& name, const std::vector<NamedType>& types,
                         const std::vector<GivenRelation>& relations, int target) {
  HeteroDataset dataset{.name = name, .types = {}, .relations = {}, .target = target};
  for (const auto& [type, nodes] : types) {
    Dataset& data = dataset.types.emplace_back(nodes.data);
    data.name = type;
    data.src = data.dst = {};
  }
  for (const auto& [source, relation, end, src, dst] : relations)
    dataset.relations.push_back({relation, source, end, read("dataset", "sources", src, true),
                                 read("dataset", "targets", dst, true)});
  return dataset;
}

std::vector<NamedType> types_of(const HeteroDataset& dataset) {
  std::vector<NamedType> types;
  for (const Dataset& type : dataset.types) {
    PyDataset& nodes = types.emplace_back(type.name, PyDataset{type, {}}).second;
    nodes.data.src = nodes.data.dst = Tensor::zeros({0}, DType::kI64);
  }
  return types;
}

nb::list relations_of(const HeteroDataset& dataset) {
  nb::list relations;
  for (const HeteroRelation& r : dataset.relations)
    relations.append(nb::make_tuple(r.source, r.name, r.target, to_dlpack(r.src), to_dlpack(r.dst)));
  return relations;
}

bool is_hetero(const std::string& path) {
  const Hdf5Lock lock(path);
  return is_hetero_file(path);
}

void save(const HeteroDataset& dataset, const std::string& path) {
  const Hdf5Lock lock;
  save_hetero_dataset(dataset, path);
}

}  // namespace

void bind_hetero(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<HeteroDataset>(m, "HeteroDataset")
      .def_static("load", load, "path"_a, "split"_a, "seed"_a)
      .def_static("from_parts", from_parts, "name"_a, "types"_a, "relations"_a, "target"_a)
      .def("types", types_of)
      .def("relations", relations_of)
      .def("save", save, "path"_a)
      .def_ro("name", &HeteroDataset::name)
      .def_ro("target", &HeteroDataset::target);
  m.def("is_hetero_file", is_hetero, "path"_a);
}

}  // namespace rodeo::python
