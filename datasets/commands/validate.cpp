#include <fmt/core.h>

#include "datasets/commands/command_line.h"
#include "datasets/dataset.h"

namespace rodeo {

int validate_command(int argc, const char* const* argv) {
  CommandLine line("validate",
                   "Checks every rule of the schema and lists all that is broken.\n"
                   "Exit code 0: the file keeps the schema; 1: it does not; 2: it cannot be looked at.",
                   "FILE");
  if (!line.parse(argc, argv)) return 0;
  const std::vector<std::string> findings = validate_dataset(line.file(0));
  for (const std::string& finding : findings) fmt::print("{}\n", finding);
  if (findings.empty())
    fmt::print("{}: keeps the schema\n", line.file(0));
  else
    fmt::print("{}: {} {}\n", line.file(0), findings.size(), findings.size() == 1 ? "finding" : "findings");
  return findings.empty() ? 0 : 1;
}

}  // namespace rodeo
