#include "core/text.h"
#include "datasets/commands/command_line.h"
#include "datasets/hdf5_check.h"
#include "datasets/hetero_dataset.h"

namespace rodeo {

int validate_command(int argc, const char* const* argv) {
  CommandLine line(
      "validate",
      "Checks every rule of the schema and lists all violations. Warns of edges that are in two parts of "
      "a split.\n"
      "Exit code 0: the file is valid; 1: it has violations; 2: it cannot be read.",
      "FILE");
  if (!line.parse(argc, argv)) return 0;
  check_hdf5_file(line.file(0));
  std::vector<std::string> warnings;
  const std::vector<std::string> findings = is_hetero_file(line.file(0))
                                                ? validate_hetero_dataset(line.file(0))
                                                : validate_dataset(line.file(0), &warnings);
  for (const std::string& finding : findings) print_line("{}", finding);
  for (const std::string& warning : warnings) print_line("{}: warning: {}", line.file(0), warning);
  if (findings.empty())
    print_line("{}: valid", line.file(0));
  else
    print_line("{}: {}", line.file(0), count_of(std::ssize(findings), "violation"));
  return findings.empty() ? 0 : 1;
}

}  // namespace rodeo
