/// The memory of tensors on the CPU. The C library maps each large block anew, and the kernel clears its
/// pages: up to a third of the time of a training step. Here a large block that is freed waits for the next
/// one of its size.
#pragma once

#include <cstddef>

namespace rodeo::host {

inline constexpr std::size_t kAlignment = 64;
/// Smaller blocks are the C library's.
inline constexpr std::size_t kLeastKept = std::size_t{1} << 20;

/// A block of `bytes`, a multiple of kAlignment, with any content; null where there is no memory.
///   Blocks in use and those that wait are together never more than the blocks in use have been at a time:
/// others are returned to the C library first. With AddressSanitizer none waits. Thread-safe, also in a
/// process that was forked.
void* allocate(std::size_t bytes);
void release(void* block, std::size_t bytes);

/// Returns the blocks that wait to the C library.
void release_waiting();
/// Their bytes.
std::size_t waiting_bytes();

}  // namespace rodeo::host
