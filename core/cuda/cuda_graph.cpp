#include "core/cuda_graph.h"

#include <cuda_runtime.h>

#include <utility>
#include <vector>

#include "core/context.h"
#include "core/cuda/check.h"
#include "core/cuda/cuda_graph_pool.h"

namespace rodeo {

using cuda::check_cuda;
using cuda::CudaGraphPool;

struct CudaGraph::State {
  Device device;
  std::shared_ptr<CudaGraphPool> pool;  // destroyed after the executable
  CUgraphExec_st* executable = nullptr;
  int kernels = 0;

  ~State() {
    if (executable) cudaGraphExecDestroy(executable);  // takes effect after a running launch has finished
  }
};

namespace {

/// RAII guard: this thread's stream records its work instead of running it.
class Capture {
 public:
  Capture(const Context& context, CudaGraphPool& pool) : stream_(context.stream()) {
    // Relaxed mode, because CudaGraphPool allocates on another stream during the capture.
    check_cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "beginning a capture");
    CudaGraphPool::active() = &pool;
  }
  ~Capture() {
    end();
    if (graph_) cudaGraphDestroy(graph_);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  cudaError_t end() {
    if (!stream_) return cudaSuccess;
    CudaGraphPool::active() = nullptr;
    const cudaError_t status = cudaStreamEndCapture(std::exchange(stream_, nullptr), &graph_);
    cudaGetLastError();  // clear the error that a failed capture leaves
    return status;
  }
  cudaGraph_t graph() const { return graph_; }

 private:
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
};

int count_kernels(cudaGraph_t graph) {
  std::size_t count = 0;
  check_cuda(cudaGraphGetNodes(graph, nullptr, &count), "counting the nodes of a CUDA graph");
  std::vector<cudaGraphNode_t> nodes(count);
  if (count > 0)
    check_cuda(cudaGraphGetNodes(graph, nodes.data(), &count), "listing the nodes of a CUDA graph");
  int kernels = 0;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    check_cuda(cudaGraphNodeGetType(node, &type), "reading a node of a CUDA graph");
    kernels += type == cudaGraphNodeTypeKernel;
  }
  return kernels;
}

}  // namespace

bool is_capturing(Device device) {
  return device.is_cuda() && Context::of(device).is_capturing();
}

CudaGraph CudaGraph::capture(Device device, const std::function<void()>& work,
                             const CaptureOptions& options) {
  check(device.is_cuda(), "[cuda_graph] only work on a CUDA device can be captured, got ", device);
  Context& context = Context::of(device);
  check(!context.is_capturing(), "[cuda_graph] this thread is capturing a CUDA graph already");
  const auto state = std::make_shared<State>();
  state->device = device;
  const bool shared = options.memory_of && options.memory_of->defined();
  check(!shared || options.memory_of->state_->device == device,
        "[cuda_graph] options.memory_of must be a CUDA graph of the same device");
  state->pool = shared ? options.memory_of->state_->pool : std::make_shared<CudaGraphPool>(device);
  // The pool can reuse memory that was freed before once the device no longer uses it.
  context.synchronize();

  if (!shared && options.plan)
    state->pool->reserve(*options.plan);
  else if (!shared && options.bytes > 0)
    state->pool->reserve(static_cast<std::size_t>(options.bytes));
  Capture capture(context, *state->pool);
  std::string reason;
  try {
    work();
  } catch (const OutOfMemory&) {
    throw;  // ~Capture ends the capture
  } catch (const Error& error) {
    reason = error.what();
  }
  const cudaError_t status = capture.end();
  if (reason.empty() && status != cudaSuccess) reason = cudaGetErrorString(status);
  check(reason.empty(), "[cuda_graph] the work cannot be captured: ", reason);
  state->kernels = count_kernels(capture.graph());
  check_cuda(cudaGraphInstantiate(&state->executable, capture.graph(), 0), "instantiating a CUDA graph");
  check_cuda(cudaGraphUpload(state->executable, context.stream()), "uploading a CUDA graph");
  CudaGraph result;
  result.state_ = state;
  return result;
}

void CudaGraph::launch() const {
  check(defined(), "[cuda_graph] launch() of an empty CUDA graph");
  check_cuda(cudaGraphLaunch(state_->executable, Context::of(state_->device).stream()),
             "launching a CUDA graph");
}

int CudaGraph::num_kernels() const {
  return defined() ? state_->kernels : 0;
}

}  // namespace rodeo
