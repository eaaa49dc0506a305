#include "core/cuda/presence.h"
#include "core/error.h"

namespace rodeo::cuda {

int device_count() {
  return 0;
}
std::string absence_reason() {
  return "this build has no CUDA backend";
}
std::string refusal(int) {
  fail("[cuda] ", absence_reason());
}

}  // namespace rodeo::cuda
