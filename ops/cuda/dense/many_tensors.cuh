// One launch for up to kMaxTensors tensors of any sizes, for optimizer steps (ops/optim.h). Consecutive
// ranges of blocks, of kThreads, work on one tensor each.
#pragma once

#include <vector>

#include "core/tensor.h"
#include "ops/cuda/device/last_block.cuh"

namespace rodeo::kernels::cuda::many_tensors {

constexpr int kThreads = 256;
constexpr int kElements = 4;     // of a thread
constexpr int kMaxTensors = 32;  // of a launch

/// Operand has `size` (elements) and `steps` (a pointer to the parameter's step count), and what its kernel
/// reads.
template <class Operand>
struct Args {
  Operand tensor[kMaxTensors];
  std::int64_t first_block[kMaxTensors + 1];
  int count;
  std::int64_t* calls;  // incremented by the last launch of a call; null in the others
  int* arrived;
};

/// The index of the tensor that this block works on.
template <class Operand>
__device__ __forceinline__ int tensor_of_block(const Args<Operand>& args) {
  int at = 0;
  while (at + 1 < args.count && blockIdx.x >= args.first_block[at + 1]) ++at;
  return at;
}

/// The first element of this thread. The others follow at distances of kThreads.
template <class Operand>
__device__ __forceinline__ std::int64_t first_element(const Args<Operand>& args, int at) {
  return (blockIdx.x - args.first_block[at]) * kThreads * kElements + threadIdx.x;
}

/// The last block to finish increments the step counts, which all blocks have read by then. All threads call
/// it.
template <class Operand>
__device__ __forceinline__ void count_steps(const Args<Operand>& args) {
  if (!is_last_block(args.arrived, gridDim.x)) return;
  if (threadIdx.x < args.count) ++*args.tensor[threadIdx.x].steps;
  if (threadIdx.x == 0 && args.calls) ++*args.calls;
}

/// operand(update) makes an Operand. `calls`: null if another call of this function counts the step.
template <class Operand, class Update, class MakeOperand>
void launch_all(const char* name, void (*kernel)(Args<Operand>), Device device,
                const std::vector<const Update*>& updates, std::int64_t* calls, MakeOperand&& operand) {
  static_assert(sizeof(Args<Operand>) <= 4096, "the limit of kernel parameters");
  std::size_t at = 0;
  do {
    Args<Operand> args{};
    for (; at < updates.size() && args.count < kMaxTensors; ++at) {
      args.tensor[args.count] = operand(*updates[at]);
      args.first_block[args.count + 1] =
          args.first_block[args.count] + ceil_div(args.tensor[args.count].size, kThreads * kElements);
      ++args.count;
    }
    const std::int64_t blocks = args.first_block[args.count];
    args.calls = at == updates.size() ? calls : nullptr;
    args.arrived = Context::of(device).zeroed_counters(1);
    launch(name, device, kernel, dim3(static_cast<unsigned>(blocks > 0 ? blocks : 1)), kThreads, 0, args);
  } while (at < updates.size());
}

/// Calls run(T{}, updates of dtype T, calls) for f64 and f32. The last call counts the step.
template <class Update, class Run>
void for_each_dtype(const std::vector<Update>& updates, const Tensor& steps, Run&& run) {
  std::vector<const Update*> single, wide;
  for (const Update& u : updates) (u.p.dtype() == DType::kF64 ? wide : single).push_back(&u);
  std::int64_t* const calls = steps.data<std::int64_t>() + steps.numel() - 1;
  if (!wide.empty()) run(double{}, wide, single.empty() ? calls : nullptr);
  if (!single.empty() || wide.empty()) run(float{}, single, calls);
}

}  // namespace rodeo::kernels::cuda::many_tensors
