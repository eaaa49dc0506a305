#include "core/comm/peer_watch.h"

#include "core/error.h"

namespace rodeo::comm {

std::string why_silent(std::size_t rank, const PeerState& peer, double silence_seconds) {
  if (peer.left || peer.silent <= silence_seconds) return {};
  return str("rank ", rank, " gave no sign of life for ", silence_seconds,
             " s: its process is stopped, or its host cannot be reached");
}

std::string why_waiting_is_vain(int rank, const std::vector<PeerState>& peers, double waited,
                                double timeout) {
  constexpr double kSecondsForLastMessages = 1;
  if (waited > kSecondsForLastMessages)
    for (std::size_t r = 0; r < peers.size(); ++r)
      if (peers[r].died) return str("rank ", r, " has exited, and rank ", rank, " waits for it");
  if (waited <= timeout) return {};
  for (std::size_t r = 0; r < peers.size(); ++r) {
    if (static_cast<int>(r) == rank || peers[r].waits) continue;
    if (peers[r].left) return str("rank ", r, " has exited, and rank ", rank, " waits for it");
    return str(
        "rank ", rank, " has waited for its GPU for ", timeout, " s, but rank ", r,
        " does something else: it hangs or is late. CommunicatorOptions::timeout_seconds sets the limit");
  }
  if (waited <= 10 * timeout) return {};
  return str("all ranks have waited for their GPUs for ", 10 * timeout,
             " s: a collective does not end. NCCL_DEBUG=INFO shows what NCCL does");
}

}  // namespace rodeo::comm
