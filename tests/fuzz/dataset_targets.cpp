/// Dataset files: load_dataset(), validate_dataset(), splits of edges, and what `rodeo_data inspect`
/// computes.
#include <cstdlib>
#include <fstream>

#include "datasets/dataset.h"
#include "datasets/edge_split.h"
#include "datasets/graph_facts.h"
#include "datasets/hetero_dataset.h"
#include "tests/fuzz/dataset_input.h"
#include "tests/fuzz/target.h"

namespace rodeo::fuzz {
namespace {

/// Not a memfd: HDF5 looks up the real path of what it opens. The driver's folder is in memory where it can.
std::string written(const std::string& bytes, const std::string& folder) {
  const std::string path = folder + "/input.h5";
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  out.close();
  if (!out) std::abort();
  return path;
}

/// An accepted dataset must be usable. Large ones are skipped to save time.
void use(const Dataset& dataset) {
  if (dataset.num_nodes < 100000) to_graph(dataset, kCpu);
  if (dataset.num_nodes * dataset.num_features < 1000000) dense_features(dataset);
}

void load(const std::string& input, std::uint64_t, const std::string& folder) {
  const std::string file = written(input, folder);
  bool loads = false;
  for (const LoadOptions& options : {LoadOptions{.all_splits = true}, LoadOptions{.need = Need::kTraining},
                                     LoadOptions{.need = Need::kTraining, .split = "60/20/20"}}) {
    try {
      use(load_dataset(file, options));
      loads = true;
    } catch (const Error& error) {
      const std::string text = error.what();
      // Only errors of the --split parser do not start with the path.
      if (text.find('\n') != std::string::npos || (text.find(file) != 0 && text.find("split") != 0))
        std::abort();
    }
  }
  check(loads, file, ": refused");
}

void validate(const std::string& input, std::uint64_t, const std::string& folder) {
  const std::string file = written(input, folder);
  const std::vector<std::string> findings = validate_dataset(file);
  for (const std::string& finding : findings)
    if (finding.find('\n') != std::string::npos || finding.find(file) != 0) std::abort();
  bool loads = true;
  try {
    edge_split_sizes(file, load_dataset(file, {.all_splits = true}));
  } catch (const Error&) {
    loads = false;
  }
  if (loads != findings.empty()) std::abort();
  check(loads, file, ": refused");
}

void inspect(const std::string& input, std::uint64_t, const std::string& folder) {
  const std::string file = written(input, folder);
  const Dataset dataset = load_dataset(file, {.all_splits = true});
  if (dataset.num_nodes > 100000 || dataset.num_classes > 100000) return;  // a row each
  const GraphFacts facts = graph_facts(dataset);
  if (facts.nodes != dataset.num_nodes || facts.edges != dataset.num_edges()) std::abort();
  if (!dataset.has_features() || dataset.num_classes <= 0) return;
  for (const DType dtype : {DType::kF32, DType::kBF16})
    if (gcn_training_bytes(dataset, facts, dtype) < 0 || gat_training_bytes(dataset, facts, dtype) < 0)
      std::abort();
}

/// Link prediction: the file's split of the edges, and ours where it has none.
void edge_split(const std::string& input, std::uint64_t number, const std::string& folder) {
  const std::string file = written(input, folder);
  Dataset dataset = load_dataset(file, {.all_splits = true});
  if (dataset.num_nodes > 100000) return;
  const EdgeSplit named = load_edge_split(file, dataset.num_nodes);
  EdgeSplitOptions options{.symmetrize = number / 2 % 2 == 1, .seed = number};
  if (number / 4 % 2 == 1) options.parts = "40/30/30";
  const bool of_file = named.val.src.defined() && options.parts.empty() && !options.symmetrize,
             valid = validate_dataset(file).empty();
  EdgeSplit split;
  try {
    split = take_edge_split(dataset, named, options);
  } catch (const Error&) {
    if (of_file && valid) std::abort();
    throw;
  }
  if (of_file && !valid) std::abort();
  if (split.val.src.numel() != split.val.dst.numel() || split.test.src.numel() == 0) std::abort();
  use(dataset);  // what is left must be usable
}

/// Node types and relations: what is valid loads, and what loads is valid and can be written.
void hetero(const std::string& input, std::uint64_t, const std::string& folder) {
  const std::string file = written(input, folder);
  const std::vector<std::string> findings = validate_hetero_dataset(file);
  for (const std::string& finding : findings)
    if (finding.find('\n') != std::string::npos || finding.find(file) != 0) std::abort();
  std::string error;
  try {
    const HeteroDataset dataset = load_hetero_dataset(file, {.all_splits = true});
    if (dataset.num_nodes() < 100000) save_hetero_dataset(dataset, folder + "/again.h5");
  } catch (const Error& refused) {
    error = refused.what();
  }
  if (error.empty() != findings.empty()) std::abort();
  check(error.empty(), file, ": refused");
}

}  // namespace

std::span<const Target> dataset_targets() {
  static constexpr Target kTargets[] = {{"load", dataset_input, load, /*hdf5=*/true},
                                        {"validate", dataset_input, validate, true},
                                        {"inspect", dataset_input, inspect, true},
                                        {"edge_split", dataset_input, edge_split, true},
                                        {"hetero", hetero_input, hetero, true}};
  return kTargets;
}

}  // namespace rodeo::fuzz
