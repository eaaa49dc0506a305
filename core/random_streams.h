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

/// RAII guard: the keys of steps of this thread have this RandomKey::first_row instead of that of their
/// RandomStep, for arrays that are cut elsewhere than the nodes. Not nested.
class ScopedFirstRow {
 public:
  explicit ScopedFirstRow(std::int64_t first_row);
  ~ScopedFirstRow();
  ScopedFirstRow(const ScopedFirstRow&) = delete;
  ScopedFirstRow& operator=(const ScopedFirstRow&) = delete;
};

}  // namespace rodeo
