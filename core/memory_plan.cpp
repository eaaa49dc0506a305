#include "core/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace rodeo {

MemoryPlan plan_memory(const std::vector<BlockLife>& blocks) {
  MemoryPlan plan;
  plan.offsets.resize(blocks.size());
  for (const BlockLife& block : blocks)
    plan.sizes.push_back((std::max<std::int64_t>(block.bytes, 1) + MemoryPlan::kUnit - 1) /
                         MemoryPlan::kUnit * MemoryPlan::kUnit);
  std::vector<std::size_t> by_size(blocks.size()), placed;
  std::iota(by_size.begin(), by_size.end(), 0);
  std::ranges::stable_sort(by_size, std::greater{}, [&](std::size_t i) { return plan.sizes[i]; });
  for (const std::size_t i : by_size) {
    std::int64_t at = 0;
    for (const std::size_t other : placed) {  // by their offsets
      const bool together = blocks[other].begin < blocks[i].end && blocks[i].begin < blocks[other].end;
      if (!together) continue;
      if (at + plan.sizes[i] <= plan.offsets[other]) break;
      at = std::max(at, plan.offsets[other] + plan.sizes[other]);
    }
    plan.offsets[i] = at;
    plan.bytes = std::max(plan.bytes, at + plan.sizes[i]);
    placed.insert(std::ranges::upper_bound(placed, at, {}, [&](std::size_t o) { return plan.offsets[o]; }),
                  i);
  }
  return plan;
}

MemoryTrace*& MemoryTrace::active() {
  thread_local MemoryTrace* active = nullptr;
  return active;
}

void MemoryTrace::allocated(const void* data, std::size_t bytes, Device device) {
  if (device != device_) return;
  live_[data] = blocks_.size();
  blocks_.push_back({static_cast<std::int64_t>(bytes), events_++});
}

void MemoryTrace::freed(const void* data) noexcept {
  const auto at = live_.find(data);
  if (at == live_.end()) return;
  blocks_[at->second].end = events_++;
  live_.erase(at);
}

}  // namespace rodeo
