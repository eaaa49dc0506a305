/// Dataset files: load_dataset(), validate_dataset() and what `rodeo_data inspect` computes.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "datasets/dataset.h"
#include "datasets/graph_facts.h"
#include "tests/fuzz/dataset_input.h"
#include "tests/fuzz/target.h"

namespace rodeo::fuzz {
namespace {

/// A file in memory.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& bytes) : file_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (file_ < 0 || ::write(file_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      std::abort();
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

/// An accepted dataset must be usable. Large ones are skipped to save time.
void use(const Dataset& dataset) {
  if (dataset.num_nodes < 100000) to_graph(dataset, kCpu);
  if (dataset.num_nodes * dataset.num_features < 1000000) dense_features(dataset);
}

void load(const std::string& input, std::uint64_t, const std::string&) {
  const MemoryFile file(input);
  for (const LoadOptions& options : {LoadOptions{.all_splits = true}, LoadOptions{.need = Need::kTraining},
                                     LoadOptions{.need = Need::kTraining, .split = "60/20/20"}}) {
    try {
      use(load_dataset(file.path(), options));
    } catch (const Error& error) {
      const std::string text = error.what();
      // Only errors of the --split parser do not start with the path.
      if (text.find('\n') != std::string::npos || (text.find(file.path()) != 0 && text.find("split") != 0))
        std::abort();
    }
  }
}

void validate(const std::string& input, std::uint64_t, const std::string&) {
  const MemoryFile file(input);
  const std::vector<std::string> findings = validate_dataset(file.path());
  for (const std::string& finding : findings)
    if (finding.find('\n') != std::string::npos || finding.find(file.path()) != 0) std::abort();
  bool loads = true;
  try {
    load_dataset(file.path(), {.all_splits = true});
  } catch (const Error&) {
    loads = false;
  }
  if (loads != findings.empty()) std::abort();
}

void inspect(const std::string& input, std::uint64_t, const std::string&) {
  const MemoryFile file(input);
  const Dataset dataset = load_dataset(file.path(), {.all_splits = true});
  if (dataset.num_nodes > 100000) return;
  const GraphFacts facts = graph_facts(dataset);
  if (facts.nodes != dataset.num_nodes || facts.edges != dataset.num_edges()) std::abort();
  if (!dataset.has_features() || dataset.num_classes <= 0) return;
  for (const DType dtype : {DType::kF32, DType::kBF16})
    if (gcn_training_bytes(dataset, facts, dtype) < 0 || gat_training_bytes(dataset, facts, dtype) < 0)
      std::abort();
}

}  // namespace

std::span<const Target> dataset_targets() {
  static constexpr Target kTargets[] = {{"load", dataset_input, load, /*hdf5=*/true},
                                        {"validate", dataset_input, validate, true},
                                        {"inspect", dataset_input, inspect, true}};
  return kTargets;
}

}  // namespace rodeo::fuzz
