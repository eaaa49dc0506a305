#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "core/storage.h"

namespace rodeo {
namespace {

// Of all blocks that are alive; never destroyed, as tensors of static life are not.
struct List {
  std::mutex mutex;
  AllocationInfo* first = nullptr;
  std::set<std::string> names;
};
List& list() {
  static List* const all = new List;
  return *all;
}

}  // namespace

AllocationInfo::AllocationInfo() {
  const std::scoped_lock lock(list().mutex);
  next_ = list().first;
  if (next_) next_->before_ = this;
  list().first = this;
}

AllocationInfo::~AllocationInfo() {
  const std::scoped_lock lock(list().mutex);
  (before_ ? before_->next_ : list().first) = next_;
  if (next_) next_->before_ = before_;
}

void AllocationInfo::write(const Shape& shape, DType dtype, Device device, std::int64_t bytes) {
  const std::scoped_lock lock(list().mutex);
  shape_ = shape;
  dtype_ = dtype;
  device_ = device;
  bytes_ = bytes;
}

void AllocationInfo::write_maker(std::string_view op, bool gradient) {
  const std::scoped_lock lock(list().mutex);
  if (!maker_.empty()) return;
  maker_ = op;
  gradient_ = gradient;
}

void AllocationInfo::write_name(std::string_view name) {
  const std::scoped_lock lock(list().mutex);
  maker_ = *list().names.emplace(name).first;
  gradient_ = false;
}

std::string describe_largest_blocks(Device device, int most) {
  struct Kind {
    std::int64_t bytes;
    int count;
    std::string text;
  };
  std::map<std::string, Kind> kinds;
  {
    const std::scoped_lock lock(list().mutex);
    for (const AllocationInfo* note = list().first; note; note = note->next_) {
      if (note->device_ != device || note->bytes_ == 0) continue;
      std::string text = str(note->dtype_, " ", note->shape_);
      if (!note->maker_.empty()) text += str(" (", note->gradient_ ? "gradient of " : "", note->maker_, ")");
      Kind& kind = kinds.try_emplace(text, Kind{note->bytes_, 0, text}).first->second;
      ++kind.count;
    }
  }
  std::vector<Kind> sorted;
  for (const auto& [text, kind] : kinds) sorted.push_back(kind);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Kind& a, const Kind& b) { return a.bytes * a.count > b.bytes * b.count; });
  std::string all;
  for (int i = 0; i < most && i < static_cast<int>(sorted.size()); ++i) {
    const Kind& kind = sorted[static_cast<std::size_t>(i)];
    all += str(i == 0 ? "" : ", ", kind.count > 1 ? str(kind.count, " x ") : "", kind.text, " ",
               format_bytes(static_cast<double>(kind.bytes * kind.count)));
  }
  return all;
}

void fail_out_of_memory(std::size_t bytes, Device device) {
  const auto text = [](std::int64_t count) { return format_bytes(static_cast<double>(count)); };
  const MemoryRoom room = memory_room(device);
  const std::string largest = describe_largest_blocks(device, 4);
  throw OutOfMemory(str("[memory] ", device, " is out of memory: ", format_bytes(static_cast<double>(bytes)),
                        " asked, ", text(room.free), " of ", text(room.total), " free, ",
                        text(memory_stats(device).current), " held by tensors",
                        largest.empty() ? "" : str("; the largest: ", largest)));
}

}  // namespace rodeo
