#include "core/cuda/index_fault.h"

#include <cuda_runtime.h>

#include <cstring>
#include <vector>

#include "core/context.h"
#include "core/cuda/check.h"
#include "core/error.h"

namespace rodeo::cuda {
namespace {
// By device index. Never freed: captured CUDA graphs keep the address.
thread_local std::vector<IndexFault*> faults;
}  // namespace

IndexCheck index_check(Device device, const char* op, const char* input) {
  const auto at = static_cast<std::size_t>(device.index);
  if (faults.size() <= at) faults.resize(at + 1);
  if (!faults[at]) {
    check(!Context::of(device).is_capturing(),
          "[context] a kernel in the captured work has not been run before: run it once before capturing");
    void* memory = nullptr;
    check_cuda(cudaHostAlloc(&memory, sizeof(IndexFault), cudaHostAllocMapped),
               "allocating page-locked memory");
    std::memset(memory, 0, sizeof(IndexFault));
    faults[at] = static_cast<IndexFault*>(memory);
  }
  return {faults[at], op, input};
}

void throw_index_fault() {
  for (IndexFault* fault : faults) {
    if (!fault || *static_cast<volatile int*>(&fault->state) != 2) continue;
    const IndexFault found = *fault;
    fault->state = 0;
    fail("[", found.op, "] ", found.input, "[", found.position, "] = ", found.value, " is outside [0, ",
         found.limit, ")");
  }
}

}  // namespace rodeo::cuda
