#include "datasets/commands/command_line.h"
#include "datasets/edge_split.h"
#include "datasets/hdf5_check.h"
#include "datasets/hdf5_file.h"
#include "datasets/hetero_dataset.h"

namespace rodeo {
namespace {

/// What is valid and seldom meant: edges that validation and test share, as some of ogbl-collab.
void print_warnings(const std::string& path) {
  if (!Hdf5File(path).has("val_edges")) return;
  const EdgeSplitSizes split = edge_split_sizes(path, load_dataset(path, {.features = false}));
  if (split.in_both > 0) print_line("{}: warning: {}", path, shared_edges_text(split.in_both, split.val));
}

}  // namespace

int validate_command(int argc, const char* const* argv) {
  CommandLine line(
      "validate",
      "Checks every rule of the schema and lists all violations. Warns of edges that are in two parts of "
      "a split.\n"
      "Exit code 0: the file is valid; 1: it has violations; 2: it cannot be read.",
      "FILE");
  if (!line.parse(argc, argv)) return 0;
  check_hdf5_file(line.file(0));
  const bool hetero = is_hetero_file(line.file(0));
  const std::vector<std::string> findings =
      hetero ? validate_hetero_dataset(line.file(0)) : validate_dataset(line.file(0));
  for (const std::string& finding : findings) print_line("{}", finding);
  if (findings.empty() && !hetero) print_warnings(line.file(0));
  if (findings.empty())
    print_line("{}: valid", line.file(0));
  else
    print_line("{}: {} {}", line.file(0), findings.size(), findings.size() == 1 ? "violation" : "violations");
  return findings.empty() ? 0 : 1;
}

}  // namespace rodeo
