/// Processes of launch_ranks().
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/file_descriptor.h"

namespace rodeo::comm {

/// Both ends of a pipe that children do not inherit. The reader does not block.
struct Pipe {
  Pipe();
  FileDescriptor reader, writer;
};

struct ChildRank {
  std::vector<std::pair<std::string, std::string>> environment;  // added to that of this process
  std::vector<int> inherited;                                    // descriptors that the child may use
};

/// Runs `command` once for each child, as launch_ranks() says. `report` is a pipe that is empty once a rank
/// has claimed the report of an error. Throws Error if the program cannot be started; then none runs.
int run_children(const std::vector<std::string>& command, const std::vector<ChildRank>& children, int report);

}  // namespace rodeo::comm
