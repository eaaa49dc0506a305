/// Random numbers of ranks that compute rows of their own.
#pragma once

#include <cstdint>

namespace rodeo {

/// RAII guard: the keys of steps of this thread (RandomStep) are of the streams first, first + 1, ... instead
/// of 0, 1, ... Ranks whose streams are apart draw other dropout masks. Not nested.
class ScopedStreams {
 public:
  explicit ScopedStreams(std::uint64_t first);
  ~ScopedStreams();
  ScopedStreams(const ScopedStreams&) = delete;
  ScopedStreams& operator=(const ScopedStreams&) = delete;
};

}  // namespace rodeo
