#include <fmt/format.h>

#include <algorithm>

#include "core/storage.h"
#include "core/text.h"
#include "datasets/commands/command_line.h"
#include "datasets/edge_split.h"
#include "datasets/graph_facts.h"
#include "datasets/hdf5_check.h"
#include "datasets/hetero_dataset.h"

namespace rodeo {
namespace {

template <class... Parts>
void row(std::string_view subject, fmt::format_string<Parts...> text, Parts&&... parts) {
  print_line("{:<16}{}", subject, fmt::format(text, std::forward<Parts>(parts)...));
}

std::string share(std::int64_t part, std::int64_t whole) {
  return whole == 0
             ? ""
             : fmt::format(" ({:.2f} %)", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

const char* yes(bool holds) {
  return holds ? "yes" : "no";
}

// The bar of a nonzero count has at least one character.
std::string bar(std::int64_t count, std::int64_t largest) {
  constexpr std::int64_t kWidth = 50;
  return std::string(
      static_cast<std::size_t>((count * kWidth + largest - 1) / std::max<std::int64_t>(largest, 1)), '#');
}

void print_degrees(const GraphFacts& facts) {
  row("in-degrees", "mean {:.2f}, median {}, max {}", facts.mean_degree, facts.median_degree,
      facts.max_degree);
  const std::int64_t largest =
      facts.histogram.empty() ? 0 : *std::max_element(facts.histogram.begin(), facts.histogram.end());
  for (std::size_t i = 0; i < facts.histogram.size(); ++i) {
    const std::uint64_t low = i == 0 ? 0 : std::uint64_t{1} << (i - 1), high = i == 0 ? 0 : 2 * low - 1;
    const std::string range = low == high ? fmt::format("{}", low) : fmt::format("{}..{}", low, high);
    fmt::print("  {:>21} {:>11} {}\n", range, facts.histogram[i], bar(facts.histogram[i], largest));
  }
}

void print_graphs(const Dataset& dataset) {
  const auto begin = dataset.graph_ptr.to_vector<std::int64_t>();
  std::vector<std::int64_t> sizes;
  for (std::size_t g = 1; g < begin.size(); ++g) sizes.push_back(begin[g] - begin[g - 1]);
  std::sort(sizes.begin(), sizes.end());
  row("graphs", "{}{}", sizes.size(),
      sizes.empty() ? ""
                    : fmt::format(" of {} to {} nodes, median {}", sizes.front(), sizes.back(),
                                  sizes[sizes.size() / 2]));
}

void print_labels(const Dataset& dataset, const GraphFacts& facts) {
  constexpr std::size_t kShown = 50;
  if (dataset.regression()) {
    row("targets", "{} of regression, {} missing", dataset.num_classes, count_of(facts.missing, "value"));
    return;
  }
  const bool of_graphs = dataset.graph_label.defined();
  row("labels", "{}{}{}", count_of(dataset.num_classes, "class"),
      dataset.multi_label() ? fmt::format(", multi-label, {} missing", facts.missing) : "",
      of_graphs ? " of graphs" : str(", ", count_of(facts.unlabelled, "unlabelled node")));
  for (std::size_t i = 0; i < std::min(facts.class_sizes.size(), kShown); ++i)
    print_line("  {:>21} {:>11}{}{}", fmt::format("class {}", i), facts.class_sizes[i],
               share(facts.class_sizes[i], of_graphs ? dataset.num_graphs() : facts.nodes),
               dataset.class_names.empty() ? "" : "  " + dataset.class_names[i]);
  if (facts.class_sizes.size() > kShown) fmt::print("  {:>21}\n", "...");
  if (facts.homophily) row("homophily", "{:.4f} of the edges join equal labels", *facts.homophily);
}

void print_memory(const Dataset& dataset, const GraphFacts& facts) {
  row("training memory", "{:>14} {:>14}   estimated, on the device", "GCN 2 x 16", "GAT 2 x 8 x 8");
  for (const DType dtype : {DType::kF32, DType::kBF16})
    row(dtype == DType::kF32 ? "  f32" : "  bf16, f16", "{:>14} {:>14}",
        format_bytes(static_cast<double>(gcn_training_bytes(dataset, facts, dtype))),
        format_bytes(static_cast<double>(gat_training_bytes(dataset, facts, dtype))));
}

}  // namespace

int inspect_command(int argc, const char* const* argv) {
  CommandLine line("inspect", "Prints statistics of a dataset and the estimated memory of training on it.",
                   "FILE");
  if (!line.parse(argc, argv)) return 0;
  check_hdf5_file(line.file(0));
  if (is_hetero_file(line.file(0))) return inspect_hetero(line.file(0)), 0;
  const Dataset dataset = load_dataset(line.file(0), {.all_splits = true});
  const GraphFacts facts = graph_facts(dataset);
  row("name", "{}", dataset.name);
  if (dataset.graph_ptr.defined()) print_graphs(dataset);
  row("nodes", "{}", facts.nodes);
  row("edges", "{}{}", facts.edges, dataset.edge_weight.defined() ? ", weighted" : "");
  row("symmetric", "{}", yes(facts.symmetric));
  row("self loops", "{}", facts.self_loops);
  row("duplicates", "{}", facts.duplicates);
  row("isolated", "{}{}", facts.isolated, share(facts.isolated, facts.nodes));
  print_degrees(facts);
  row("features", "{}",
      dataset.has_features()
          ? fmt::format("{}{}, {:.2f} % nonzero", dataset.num_features,
                        dataset.x_sparse.defined() ? ", sparse" : "", 100 * facts.density.value_or(0))
          : "none");
  if (dataset.edge_attr.defined()) row("edge features", "{}", dataset.edge_attr.dim(1));
  if (dataset.labels().defined())
    print_labels(dataset, facts);
  else
    row("labels", "none");
  if (const Split& graphs = dataset.graph_split; graphs.train.defined())
    row("split of graphs", "{} train, {} val, {} test", graphs.train.numel(), graphs.val.numel(),
        graphs.test.numel());
  for (std::size_t i = 0; i < dataset.splits.size(); ++i) {
    const auto& [train, val, test] = dataset.splits[i];
    row(dataset.splits.size() == 1 ? "split" : fmt::format("split {}", i), "{} train, {} val, {} test",
        train.numel(), val.numel(), test.numel());
  }
  if (const EdgeSplitSizes split = edge_split_sizes(line.file(0), dataset); split.val > 0) {
    row("split of edges", "{} train, {} val, {} test", split.train, split.val, split.test);
    if (split.in_both > 0) row("warning", "{}", shared_edges_text(split.in_both, split.val));
  }
  if (dataset.has_features() && dataset.y.defined()) print_memory(dataset, facts);
  return 0;
}

}  // namespace rodeo
