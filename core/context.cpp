#include "core/context.h"

#include <atomic>

namespace rodeo {
namespace {
std::atomic<bool> tf32{false};
}  // namespace

void set_allow_tf32(bool allow) {
  tf32 = allow;
}
bool allow_tf32() {
  return tf32;
}

}  // namespace rodeo
