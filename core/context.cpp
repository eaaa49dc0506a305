#include "core/context.h"

#include <atomic>

namespace rodeo {
namespace {
std::atomic<bool> tf32_allowed{false};
}  // namespace

void set_allow_tf32(bool allow) {
  tf32_allowed = allow;
}
bool allow_tf32() {
  return tf32_allowed;
}

}  // namespace rodeo
