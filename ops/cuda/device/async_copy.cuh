/// cp.async: copies from global to shared memory that run while the thread continues.
#pragma once

#include <cstdint>

namespace rodeo::kernels::cuda {

/// The 32-bit address of shared memory, as PTX instructions take it.
__device__ __forceinline__ std::uint32_t shared_address(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

/// Copies kBytes (4, 8 or 16) from global memory to shared memory. Both addresses are multiples of
/// kBytes. Copies of 16 bytes bypass the L1.
template <int kBytes>
__device__ __forceinline__ void async_copy(void* to, const void* from) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(to)), "l"(from), "n"(kBytes)
                 : "memory");
}

/// Copies kBytes where `inside`, else writes zeros; `from` is not read then, but is a valid address.
template <int kBytes>
__device__ __forceinline__ void async_copy_or_zero(void* to, const void* from, bool inside) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  const int bytes = inside ? kBytes : 0;
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
                 "r"(bytes)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(shared_address(to)), "l"(from),
                 "r"(bytes), "n"(kBytes)
                 : "memory");
}

/// Ends a group of copies of this thread.
__device__ __forceinline__ void async_copy_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits until at most kPending groups of this thread are incomplete.
template <int kPending>
__device__ __forceinline__ void async_copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}
/// Waits for all copies of this thread. Other threads' copies need a barrier after it.
__device__ __forceinline__ void async_copy_wait_all() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

}  // namespace rodeo::kernels::cuda
