/// Files that commands write: what their names may be, and what may stand there.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace rodeo {

/// A file of a command line.
struct NamedPath {
  std::string option;  // "--export"
  std::string path;    // empty: not given
};

/// Why a write wrote less than it was given.
constexpr const char* kNoRoom = "no room, on the disk or within ulimit -f";

/// Throws Error where an output is an input or another output, perhaps by a link or another path. Terminals,
/// pipes and devices may be named more than once.
void check_outputs(const std::vector<NamedPath>& outputs, const std::vector<NamedPath>& inputs);

/// Throws Error unless the name ends in one of `suffixes`, or is of a terminal, pipe or device. An empty name
/// is accepted. The suffix "" is a name without one.
void check_suffix(const NamedPath& file, std::initializer_list<std::string_view> suffixes);

struct OutputPath {
  std::string target;   // the file to replace: links are followed
  std::string partial;  // beside it, written first; empty: target is a terminal or pipe, written to directly
};
/// Throws Error for folders and disks. Removes partial files of `path` that killed processes left.
OutputPath output_path(const std::string& path);

}  // namespace rodeo
