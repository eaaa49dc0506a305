#include "core/host/cgroup.h"

#include <algorithm>
#include <fstream>
#include <optional>

#include "core/error.h"

namespace rodeo {
namespace {

// The file names of one version of control groups.
struct Files {
  const char *limit, *used, *cached;
};
constexpr Files kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr Files kVersion2 = {"memory.max", "memory.current", "inactive_file"};

// Nothing if the file is missing or contains "max".
std::optional<std::int64_t> read_number(const std::string& path) {
  std::int64_t value = 0;
  if (std::ifstream(path) >> value) return value;
  return std::nullopt;
}

std::int64_t cached_bytes(const std::string& group, const char* key) {
  std::ifstream stat(group + "/memory.stat");
  std::string name;
  for (std::int64_t value = 0; stat >> name >> value;)
    if (name == key) return value;
  return 0;
}

// Every ancestor of a group limits it as well. In a container, the path may be the host's: its groups then
// have no files here, and the root of the mount is the container's own group.
void apply(MemoryRoom& room, const std::string& mount, std::string path, const Files& files) {
  for (;; path.resize(path.rfind('/'))) {
    if (path == "/") path.clear();
    const std::string group = mount + path;
    const auto limit = read_number(group + "/" + files.limit), used = read_number(group + "/" + files.used);
    if (limit && used) {
      const std::int64_t taken = std::max<std::int64_t>(0, *used - cached_bytes(group, files.cached));
      room.total = std::min(room.total, *limit);
      room.free = std::min(room.free, std::max<std::int64_t>(0, *limit - taken));
    }
    if (path.empty()) return;
  }
}

}  // namespace

MemoryRoom within_control_groups(MemoryRoom room, const std::string& root) {
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "4:memory:/job", "0::/job"
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos || second + 1 >= line.size() || line[second + 1] != '/') continue;
    const std::string controllers = str(",", line.substr(first + 1, second - first - 1), ",");
    const std::string path = line.substr(second + 1);
    if (controllers == ",,")
      apply(room, root + "/sys/fs/cgroup", path, kVersion2);
    else if (controllers.find(",memory,") != std::string::npos)
      apply(room, root + "/sys/fs/cgroup/memory", path, kVersion1);
  }
  return room;
}

}  // namespace rodeo
