/// Types of core/communicator.h that its backends read too.
#pragma once

#include <cstdint>

namespace rodeo {

/// How values of several ranks become one. kMax: NaN if a rank has NaN; of equal values that of the lowest
/// rank.
enum class Reduction : std::uint8_t { kSum, kMax };

/// How ranks reach each other. kAuto: kSelf for one rank, else kMpi if launcher and build have it, else kTcp.
enum class CommBackend : std::uint8_t { kAuto, kSelf, kMpi, kTcp };

struct CommunicatorOptions {
  CommBackend backend = CommBackend::kAuto;
  /// A call throws Error after this many seconds in which no message of the ranks that it waits for arrives.
  /// Must be longer than one rank may compute or read files while the others wait.
  double timeout_seconds = 25;
  /// Over TCP, the process of every rank tells the others that it lives, also while it computes or reads. A
  /// call that waits for one that was silent for this many seconds throws Error: its process or host has
  /// stopped.
  double silence_seconds = 20;
  /// Longer tensors are sent in several messages. In [1, 2^30], equal on all ranks.
  std::int64_t max_message_bytes = std::int64_t{1} << 26;
};

}  // namespace rodeo
