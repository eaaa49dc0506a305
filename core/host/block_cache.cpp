#include "core/host/block_cache.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

// Defined in AddressSanitizer alone, of GCC or Clang, also where only the program that uses the library has
// it.
extern "C" __attribute__((weak)) void __asan_init();  // NOLINT(bugprone-reserved-identifier)

namespace rodeo::host {
namespace {

/// AddressSanitizer finds what is read after it was freed.
bool keeps(std::size_t bytes) {
  return bytes >= kLeastKept && __asan_init == nullptr;
}

struct Cache {
  std::mutex mutex;
  std::map<std::size_t, std::vector<void*>> waiting;  // by size
  std::size_t waiting_bytes = 0, used_bytes = 0, most_used_bytes = 0;

  Cache() {
    pthread_atfork([] { cache().mutex.lock(); }, [] { cache().mutex.unlock(); },
                   [] { cache().mutex.unlock(); });
  }
  /// Lives as long as the process: tensors may be static.
  static Cache& cache() {
    static Cache& only = *new Cache;
    return only;
  }

  /// A waiting block, or null.
  void* take(std::size_t bytes) {
    const auto found = waiting.find(bytes);
    if (found == waiting.end()) return nullptr;
    void* const block = found->second.back();
    found->second.pop_back();
    if (found->second.empty()) waiting.erase(found);
    waiting_bytes -= bytes;
    return block;
  }
  /// Frees waiting blocks, the largest first, until `limit` bytes wait.
  void shrink(std::size_t limit) {
    while (waiting_bytes > limit) std::free(take(waiting.rbegin()->first));
  }
};

}  // namespace

void* allocate(std::size_t bytes) {
  if (!keeps(bytes)) return std::aligned_alloc(kAlignment, bytes);
  Cache& cache = Cache::cache();
  const std::scoped_lock lock(cache.mutex);
  void* block = cache.take(bytes);
  const std::size_t used = cache.used_bytes + bytes, most = std::max(cache.most_used_bytes, used);
  if (!block) {
    cache.shrink(most - used);
    block = std::aligned_alloc(kAlignment, bytes);
  }
  if (!block) {
    cache.shrink(0);
    block = std::aligned_alloc(kAlignment, bytes);
  }
  if (block) cache.used_bytes = used, cache.most_used_bytes = most;
  return block;
}

void release(void* block, std::size_t bytes) {
  if (!keeps(bytes)) return std::free(block);
  Cache& cache = Cache::cache();
  const std::scoped_lock lock(cache.mutex);
  cache.waiting[bytes].push_back(block);
  cache.waiting_bytes += bytes, cache.used_bytes -= bytes;
}

void release_waiting() {
  Cache& cache = Cache::cache();
  const std::scoped_lock lock(cache.mutex);
  cache.shrink(0);
  cache.most_used_bytes = cache.used_bytes;
}

std::size_t waiting_bytes() {
  Cache& cache = Cache::cache();
  const std::scoped_lock lock(cache.mutex);
  return cache.waiting_bytes;
}

}  // namespace rodeo::host
