#include "core/cuda/runtime.h"
#include "core/cuda_graph.h"
#include "core/error.h"

namespace rodeo {

struct CudaGraph::Graph {};

bool is_capturing(Device) {
  return false;
}

CudaGraph CudaGraph::capture(Device device, const std::function<void()>&, const CaptureOptions&) {
  check(device.is_cuda(), "[graph] only the work of a CUDA device can be captured, got ", device);
  fail("[graph] ", cuda::absence_reason());
}

void CudaGraph::launch() const {
  fail("[graph] launch() of an empty graph");
}

int CudaGraph::num_kernels() const {
  return 0;
}

}  // namespace rodeo
