#include "core/context.h"
#include "core/cuda/presence.h"
#include "core/error.h"

namespace rodeo {
namespace {
[[noreturn]] void absent() {
  fail("[context] ", cuda::absence_reason());
}
}  // namespace

Context& Context::of(Device) {
  absent();
}
void Context::forget_current() {}
void Context::synchronize() const {
  absent();
}
bool Context::is_capturing() const {
  absent();
}
cublasLtContext* Context::cublaslt() {
  absent();
}
cudnnContext* Context::cudnn() {
  absent();
}
cusparseContext* Context::cusparse() {
  absent();
}
void* Context::workspace() {
  absent();
}
int* Context::zeroed_counters(std::int64_t) {
  absent();
}

}  // namespace rodeo
