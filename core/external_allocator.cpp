#include "core/external_allocator.h"

#include <utility>

namespace rodeo {
namespace {
thread_local UseAllocator* innermost = nullptr;
}  // namespace

UseAllocator::UseAllocator(Device device, ExternalAllocator* allocator)
    : device_(device), allocator_(allocator), outer_(std::exchange(innermost, this)) {}

UseAllocator::~UseAllocator() {
  innermost = outer_;
}

ExternalAllocator* external_allocator(Device device) {
  for (const UseAllocator* use = innermost; use; use = use->outer_)
    if (use->device_ == device) return use->allocator_;
  return nullptr;
}

}  // namespace rodeo
