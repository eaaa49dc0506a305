/// What the commands print of graphs of several node types.
#include "core/text.h"
#include "datasets/hetero_dataset.h"

#include <algorithm>

#include "datasets/commands/command_line.h"

namespace rodeo {
namespace {

std::string classes_of(const Dataset& type) {
  if (!type.y.defined()) return "no labels";
  return fmt::format("{} {}", type.num_classes,
                     type.regression()    ? "targets of regression"
                     : type.multi_label() ? "classes, multi-label"
                                          : "classes");
}

std::string features_of(const Dataset& type) {
  if (!type.has_features()) return "no features";
  return count_of(type.num_features, "feature") + (type.x_sparse.defined() ? ", sparse" : "");
}

/// "mean 3.1, max 20, 5 without": degrees of `nodes` in a relation.
std::string degrees(const Tensor& ids, std::int64_t nodes) {
  std::vector<std::int64_t> degree(static_cast<std::size_t>(nodes));
  for (const std::int64_t id : ids.to(DType::kI64).to_vector<std::int64_t>())
    ++degree[static_cast<std::size_t>(id)];
  return fmt::format("mean {:.2f}, max {}, {} without",
                     static_cast<double>(ids.numel()) / static_cast<double>(std::max<std::int64_t>(nodes, 1)),
                     degree.empty() ? 0 : *std::max_element(degree.begin(), degree.end()),
                     std::count(degree.begin(), degree.end(), 0));
}

}  // namespace

std::string summary(const HeteroDataset& dataset) {
  std::string text =
      str(dataset.name, ", ", count_of(std::ssize(dataset.types), "node type"), ", ",
          count_of(dataset.num_nodes(), "node"), ", ", count_of(std::ssize(dataset.relations), "relation"),
          ", ", count_of(dataset.num_edges(), "edge"));
  if (dataset.target < 0) return text;
  const Dataset& target = dataset.types[static_cast<std::size_t>(dataset.target)];
  return text + fmt::format("; learns {}, {}", target.name, classes_of(target));
}

void inspect_hetero(const std::string& path) {
  const HeteroDataset dataset = load_hetero_dataset(path, {.all_splits = true});
  print_line("{}", summary(dataset));
  for (const Dataset& type : dataset.types) {
    print_line("node type {:<18} {:>10} nodes, {}, {}", type.name, type.num_nodes, features_of(type),
               classes_of(type));
    if (type.split.train.defined())
      print_line("  {} {} train, {} val, {} test",
                 type.splits.size() > 1 ? fmt::format("{} splits, the first", type.splits.size()) : "split",
                 type.split.train.numel(), type.split.val.numel(), type.split.test.numel());
  }
  for (const HeteroRelation& relation : dataset.relations) {
    print_line("relation {} {:>10} edges", dataset.relation_name(relation), relation.num_edges());
    print_line("  edges of a source: {}; of a target: {}",
               degrees(relation.src, dataset.types[static_cast<std::size_t>(relation.source)].num_nodes),
               degrees(relation.dst, dataset.types[static_cast<std::size_t>(relation.target)].num_nodes));
  }
}

}  // namespace rodeo
