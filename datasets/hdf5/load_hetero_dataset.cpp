#include <algorithm>
#include <filesystem>

#include "core/quoting.h"
#include "datasets/hdf5/dataset_reader.h"
#include "datasets/hdf5/findings.h"
#include "datasets/hdf5/hetero_names.h"
#include "datasets/hetero_dataset.h"

namespace rodeo {
namespace {

using hdf5::HeteroNames;

/// The steps of load_hetero_dataset(). With `findings`, errors are appended to it, and reading goes on.
class HeteroReader {
 public:
  HeteroReader(const Hdf5File& file, const LoadOptions& options, std::vector<std::string>* findings)
      : file_(file), options_(options), findings_(findings) {}

  HeteroDataset read() {
    const std::int64_t version = file_.integer("rodeo_schema").value_or(1);
    check(version == hdf5::kHeteroSchema, file_.path(), ": attribute rodeo_schema must be ",
          hdf5::kHeteroSchema, " for node types and relations, got ", version);
    const HeteroNames names = hdf5::read_hetero_names(file_);
    out_.name = printable(file_.text("name").value_or(std::filesystem::path(file_.path()).stem().string()));
    find_target(names);
    out_.types.resize(names.types.size());
    is_read_.assign(names.types.size(), false);
    for (std::size_t i = 0; i < names.types.size(); ++i) step([&] { read_type(names, i); });
    check_nodes();
    for (std::size_t i = 0; i < names.relations.size(); ++i) step([&] { read_relation(names, i); });
    if (options_.need == Need::kTraining) check_trainable();
    return std::move(out_);
  }

 private:
  template <class F>
  void step(F&& f) {
    collect(findings_, f);
  }

  /// The type that the file names, else the only one with labels.
  void find_target(const HeteroNames& names) {
    out_.target = names.target;
    int labelled = 0;
    for (std::size_t i = 0; i < names.types.size() && names.target < 0; ++i)
      if (file_.has(names.type_group(i) + "/y")) out_.target = static_cast<int>(i), ++labelled;
    if (labelled > 1) out_.target = -1;
  }

  void read_type(const HeteroNames& names, std::size_t type) {
    const Hdf5File group = file_.group(names.type_group(type));
    const bool is_target = static_cast<int>(type) == out_.target;
    check(group.integer("num_nodes").has_value(), group.path(),
          ": attribute num_nodes is missing: every node type needs it");
    const LoadOptions options{.features = options_.features,
                              .edges = false,
                              .split = is_target ? options_.split : std::string(),
                              .seed = options_.seed,
                              .all_splits = options_.all_splits,
                              .device = options_.device};
    out_.types[type] = DatasetReader(group, options, findings_).read();
    out_.types[type].name = names.types[type];
    is_read_[type] = true;
  }

  void read_relation(const HeteroNames& names, std::size_t relation) {
    const auto& [name, source, target] = names.relations[relation];
    const auto count = [&](int type) { return out_.types[static_cast<std::size_t>(type)].num_nodes; };
    const Hdf5File group = file_.group(names.relation_group(relation));
    out_.relations.push_back({name, source, target, {}, {}});
    if (!is_read_[static_cast<std::size_t>(source)] || !is_read_[static_cast<std::size_t>(target)] ||
        !options_.edges)
      return;  // another finding says why
    const auto [src, dst] =
        DatasetReader(group, options_, findings_).read_relation(count(source), count(target));
    out_.relations.back().src = src, out_.relations.back().dst = dst;
    edges_ += src.defined() ? src.numel() : 0;
    check(edges_ <= kMaxNodes, file_.path(), ": has more than 2^31 - 1 edges");
  }

  void check_nodes() {
    check(out_.num_nodes() <= kMaxNodes, file_.path(), ": has ", out_.num_nodes(),
          " nodes of all types, more than 2^31 - 1");
  }

  void check_trainable() const {
    const bool labelled = std::any_of(out_.types.begin(), out_.types.end(),
                                      [](const Dataset& type) { return type.y.defined(); });
    check(out_.target >= 0 || labelled, file_.path(), ": no node type has labels, /nodes/TYPE/y, to learn");
    check(out_.target >= 0, file_.path(),
          ": attribute target_type is missing: it must name the node type whose labels are learned");
    const Dataset& target = out_.types[static_cast<std::size_t>(out_.target)];
    const std::string where = str(file_.path(), ": /nodes/", target.name);
    check(target.y.defined(), where, "/y is missing: training needs labels [nodes]");
    check(target.split.train.defined(), where,
          "/train_mask is missing: training needs masks, or a split such as 60/20/20");
    for (const Tensor* part : {&target.split.train, &target.split.val, &target.split.test})
      check(part->numel() > 0, where, ": the split leaves no node for ",
            part == &target.split.train ? "train"
            : part == &target.split.val ? "val"
                                        : "test");
  }

  const Hdf5File& file_;
  const LoadOptions& options_;
  std::vector<std::string>* findings_;
  HeteroDataset out_;
  std::vector<bool> is_read_;
  std::int64_t edges_ = 0;
};

}  // namespace

std::pair<Tensor, Tensor> DatasetReader::read_relation(std::int64_t sources, std::int64_t targets) {
  const Hdf5Array edges = open_integers("edge_index", 2, "integer [2, edges]");
  check(edges.shape()[0] == 2, edges.where(), " must be integer [2, edges], got ", edges.dtype(), " ",
        edges.shape());
  Ids src, dst;
  step([&] { src = read_ids(edges, 0, sources); });
  step([&] { dst = read_ids(edges, 1, targets); });
  return {src.values, dst.values};
}

bool is_hetero_file(const std::string& path) {
  return Hdf5File(path).integer("rodeo_schema").value_or(1) == hdf5::kHeteroSchema;
}

HeteroDataset load_hetero_dataset(const std::string& path, const LoadOptions& options) {
  return HeteroReader(Hdf5File(path), options, nullptr).read();
}

std::vector<std::string> validate_hetero_dataset(const std::string& path) {
  std::vector<std::string> findings;
  const Hdf5File file(path);
  const LoadOptions options{.all_splits = true};
  collect(&findings, [&] { HeteroReader(file, options, &findings).read(); });
  return findings;
}

}  // namespace rodeo
