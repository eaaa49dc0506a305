#include "core/cuda/runtime.h"
#include "core/error.h"
#include "core/graph.h"

namespace rodeo {

struct CapturedGraph::Graph {};

bool is_capturing(Device) {
  return false;
}

CapturedGraph CapturedGraph::capture(Device device, const std::function<void()>&, const CaptureOptions&) {
  check(device.is_cuda(), "[graph] only the work of a CUDA device can be captured, got ", device);
  fail("[graph] ", cuda::absence_reason());
}

void CapturedGraph::launch() const {
  fail("[graph] launch() of an empty graph");
}

int CapturedGraph::num_kernels() const {
  return 0;
}

}  // namespace rodeo
