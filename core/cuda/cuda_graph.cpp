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

struct CudaGraph::Graph {
  Device device;
  std::shared_ptr<CudaGraphPool> memory;  // freed after the graph
  CUgraphExec_st* runnable = nullptr;
  int kernels = 0;

  ~Graph() {
    if (runnable) cudaGraphExecDestroy(runnable);  // where it is running, once it has run
  }
};

namespace {

/// While one lives, this thread's stream records instead of running.
class Capture {
 public:
  Capture(const Context& context, CudaGraphPool& memory) : stream_(context.stream()) {
    // Relaxed: memory for the graph is allocated meanwhile, on a stream of its own.
    check_cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "beginning a capture");
    CudaGraphPool::active() = &memory;
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
    cudaGetLastError();  // a capture that failed leaves an error for whoever looks next
    return status;
  }
  cudaGraph_t graph() const { return graph_; }

 private:
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
};

int count_kernels(cudaGraph_t graph) {
  std::size_t count = 0;
  check_cuda(cudaGraphGetNodes(graph, nullptr, &count), "counting the nodes of a graph");
  std::vector<cudaGraphNode_t> nodes(count);
  if (count > 0) check_cuda(cudaGraphGetNodes(graph, nodes.data(), &count), "listing the nodes of a graph");
  int kernels = 0;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    check_cuda(cudaGraphNodeGetType(node, &type), "reading a node of a graph");
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
  check(device.is_cuda(), "[graph] only the work of a CUDA device can be captured, got ", device);
  Context& context = Context::of(device);
  check(!context.is_capturing(), "[graph] a graph is being captured on this thread already");
  const auto made = std::make_shared<Graph>();
  made->device = device;
  const bool shared = options.beside && options.beside->defined();
  check(!shared || options.beside->graph_->device == device, "[graph] beside a graph of another device");
  made->memory = shared ? options.beside->graph_->memory : std::make_shared<CudaGraphPool>(device);
  // What was freed before may serve the graph once it is no longer in use.
  context.synchronize();

  if (!shared && options.bytes > 0) made->memory->reserve(static_cast<std::size_t>(options.bytes));
  Capture capture(context, *made->memory);
  std::string reason;
  try {
    work();
  } catch (const OutOfMemory&) {
    throw;  // the capture ends with its object
  } catch (const Error& error) {
    reason = error.what();
  }
  const cudaError_t status = capture.end();
  if (reason.empty() && status != cudaSuccess) reason = cudaGetErrorString(status);
  check(reason.empty(), "[graph] the work cannot be captured: ", reason);
  made->kernels = count_kernels(capture.graph());
  check_cuda(cudaGraphInstantiate(&made->runnable, capture.graph(), 0), "making a graph runnable");
  check_cuda(cudaGraphUpload(made->runnable, context.stream()), "uploading a graph");
  CudaGraph result;
  result.graph_ = made;
  return result;
}

void CudaGraph::launch() const {
  check(defined(), "[graph] launch() of an empty graph");
  check_cuda(cudaGraphLaunch(graph_->runnable, Context::of(graph_->device).stream()), "launching a graph");
}

int CudaGraph::num_kernels() const {
  return defined() ? graph_->kernels : 0;
}

}  // namespace rodeo
