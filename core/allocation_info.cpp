#include "core/allocation_info.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "core/error.h"
#include "core/memory_stats.h"

namespace rodeo {
namespace {

// All live allocations. Never destroyed, because tensors of static lifetime outlive it otherwise.
struct Registry {
  std::mutex mutex;
  AllocationInfo* first = nullptr;
  std::set<std::string> names;  // that labels refer to
};
Registry& registry() {
  static Registry* const all = new Registry;
  return *all;
}

}  // namespace

AllocationInfo::AllocationInfo() {
  const std::scoped_lock lock(registry().mutex);
  next_ = registry().first;
  if (next_) next_->previous_ = this;
  registry().first = this;
}

AllocationInfo::~AllocationInfo() {
  const std::scoped_lock lock(registry().mutex);
  (previous_ ? previous_->next_ : registry().first) = next_;
  if (next_) next_->previous_ = previous_;
}

void AllocationInfo::set_contents(const Shape& shape, DType dtype, Device device, std::int64_t bytes) {
  const std::scoped_lock lock(registry().mutex);
  shape_ = shape;
  dtype_ = dtype;
  device_ = device;
  bytes_ = bytes;
}

void AllocationInfo::set_name(std::string_view name) {
  const std::scoped_lock lock(registry().mutex);
  label_ = *registry().names.emplace(name).first;
  in_gradient_ = false;
}

void AllocationInfo::set_producer(std::string_view op, bool in_gradient) {
  const std::scoped_lock lock(registry().mutex);
  if (!label_.empty()) return;
  label_ = op;
  in_gradient_ = in_gradient;
}

std::string describe_largest_allocations(Device device, int max_kinds) {
  struct Kind {
    std::int64_t bytes;
    int count;
    std::string text;
  };
  std::map<std::string, Kind> kinds;
  {
    const std::scoped_lock lock(registry().mutex);
    for (const AllocationInfo* info = registry().first; info; info = info->next_) {
      if (info->device_ != device || info->bytes_ == 0) continue;
      std::string text = str(info->dtype_, " ", info->shape_);
      if (!info->label_.empty())
        text += str(" (", info->in_gradient_ ? "gradient of " : "", info->label_, ")");
      Kind& kind = kinds.try_emplace(text, Kind{info->bytes_, 0, text}).first->second;
      ++kind.count;
    }
  }
  std::vector<Kind> sorted;
  for (const auto& [text, kind] : kinds) sorted.push_back(kind);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Kind& a, const Kind& b) { return a.bytes * a.count > b.bytes * b.count; });
  std::string all;
  for (int i = 0; i < max_kinds && i < static_cast<int>(sorted.size()); ++i) {
    const Kind& kind = sorted[static_cast<std::size_t>(i)];
    all += str(i == 0 ? "" : ", ", kind.count > 1 ? str(kind.count, " x ") : "", kind.text, " ",
               format_bytes(static_cast<double>(kind.bytes * kind.count)));
  }
  return all;
}

void fail_out_of_memory(std::size_t bytes, Device device) {
  const auto text = [](std::int64_t count) { return format_bytes(static_cast<double>(count)); };
  const MemoryRoom room = memory_room(device);
  const std::string largest = describe_largest_allocations(device, 4);
  throw OutOfMemory(str("[memory] ", device, " is out of memory: ", text(static_cast<std::int64_t>(bytes)),
                        " requested, ", text(room.free), " of ", text(room.total), " free, ",
                        text(memory_stats(device).current), " used by tensors",
                        largest.empty() ? "" : str("; the largest: ", largest)));
}

}  // namespace rodeo
