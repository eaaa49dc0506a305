#include "core/host/cgroup.h"

#include <sys/mman.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <vector>

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

void limit_memory(MemoryRoom& room, const std::string& group, const Files& files) {
  const auto limit = read_number(group + "/" + files.limit), used = read_number(group + "/" + files.used);
  if (!limit || !used) return;
  const std::int64_t taken = std::max<std::int64_t>(0, *used - cached_bytes(group, files.cached));
  room.total = std::min(room.total, *limit);
  room.free = std::min(room.free, std::max<std::int64_t>(0, *limit - taken));
}

/// Processors that a quota allows, rounded up; 0: no limit.
std::int64_t processors_of(std::optional<std::int64_t> quota, std::optional<std::int64_t> period) {
  if (!quota || *quota <= 0 || !period || *period <= 0) return 0;
  return *quota / *period + (*quota % *period != 0);
}

std::int64_t processors_of_group(const std::string& group, bool version2) {
  if (!version2)
    return processors_of(read_number(group + "/cpu.cfs_quota_us"), read_number(group + "/cpu.cfs_period_us"));
  std::ifstream file(group + "/cpu.max");  // "max 100000" or "150000 100000"
  std::int64_t quota = 0, period = 0;
  if (!(file >> quota >> period)) return 0;
  return processors_of(quota, period);
}

/// Calls visit(folder, whether of version 2) for each group of this process in the hierarchy of `controller`,
/// and for its ancestors, which limit it as well. In a container, the path may be the host's: its groups then
/// have no files here, and the root of the mount is the container's own group.
template <class F>
void for_each_group(const std::string& root, const std::string& controller, F&& visit) {
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "4:memory:/job", "0::/job"
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos || second + 1 >= line.size() || line[second + 1] != '/') continue;
    const std::string controllers = str(",", line.substr(first + 1, second - first - 1), ",");
    const bool version2 = controllers == ",,";
    if (!version2 && controllers.find("," + controller + ",") == std::string::npos) continue;
    const std::string mount = root + "/sys/fs/cgroup" + (version2 ? "" : "/" + controller);
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      if (path == "/") path.clear();
      visit(mount + path, version2);
      if (path.empty()) break;
    }
  }
}

}  // namespace

MemoryRoom within_control_groups(MemoryRoom room, const std::string& root) {
  for_each_group(root, "memory", [&](const std::string& group, bool version2) {
    limit_memory(room, group, version2 ? kVersion2 : kVersion1);
  });
  return room;
}

int processors_of_control_groups(const std::string& root) {
  std::int64_t least = 0;
  for_each_group(root, "cpu", [&](const std::string& group, bool version2) {
    const std::int64_t allowed = processors_of_group(group, version2);
    if (allowed > 0) least = least == 0 ? allowed : std::min(least, allowed);
  });
  return static_cast<int>(std::min<std::int64_t>(least, std::numeric_limits<int>::max()));
}

bool can_map(int blocks, std::size_t bytes) {
  std::vector<void*> mapped;
  bool enough = true;
  for (int i = 0; i < blocks && enough; ++i) {
    void* const block = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    enough = block != MAP_FAILED;
    if (enough) mapped.push_back(block);
  }
  for (void* const block : mapped) ::munmap(block, bytes);
  return enough;
}

}  // namespace rodeo
