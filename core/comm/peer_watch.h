/// What is known of the other ranks while this one waits for its GPU.
#pragma once

#include <string>
#include <vector>

namespace rodeo::comm {

struct PeerState {
  bool waits = false;  // for its GPU
  bool left = false;   // its process has ended, or is about to, without an error
  bool died = false;   // its process has ended without a word
  double silent = 0;   // seconds since its process last told anything; 0 where processes do not
};

/// Why nothing will come of rank `rank`: its process was silent for longer than
/// CommunicatorOptions::silence_seconds; else empty.
std::string why_silent(std::size_t rank, const PeerState& peer, double silence_seconds);

/// Why rank `rank` waits in vain for its GPU after `waited` seconds; empty: it does not. `timeout` is
/// CommunicatorOptions::timeout_seconds. If all ranks wait, they may have much to compute: only after ten
/// times the timeout they are taken to block each other.
std::string why_waiting_is_vain(int rank, const std::vector<PeerState>& peers, double waited, double timeout);

}  // namespace rodeo::comm
