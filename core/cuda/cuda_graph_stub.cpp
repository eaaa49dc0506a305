#include "core/cuda/presence.h"
#include "core/cuda_graph.h"
#include "core/error.h"

namespace rodeo {

struct CudaGraph::State {};

bool is_capturing(Device) {
  return false;
}

CudaGraph CudaGraph::capture(Device device, const std::function<void()>&, const CaptureOptions&) {
  check(device.is_cuda(), "[cuda_graph] only work on a CUDA device can be captured, got ", device);
  fail("[cuda_graph] ", cuda::absence_reason());
}

void CudaGraph::launch() const {
  fail("[cuda_graph] launch() of an empty CUDA graph");
}

int CudaGraph::num_kernels() const {
  return 0;
}

}  // namespace rodeo
