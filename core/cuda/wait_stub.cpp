#include "core/cuda/presence.h"
#include "core/cuda/wait.h"
#include "core/error.h"

namespace rodeo::cuda {

void set_wait_observer(WaitObserver) noexcept {}
void wait_for(CUstream_st*, const char*) {
  fail("[cuda] ", absence_reason());
}
void wait_for(CUevent_st*, const char*) {
  fail("[cuda] ", absence_reason());
}

}  // namespace rodeo::cuda
