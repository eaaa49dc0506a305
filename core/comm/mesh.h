/// TCP connections between all pairs of ranks.
#pragma once

#include <vector>

#include "core/comm/launcher.h"
#include "core/comm/socket.h"

namespace rodeo::comm {

/// Two connections to each other rank; none to the own one.
struct Mesh {
  std::vector<FileDescriptor> data;   // the bytes of exchanges
  std::vector<FileDescriptor> notes;  // what a rank tells the others of itself
};

/// Joins the ranks of `launch`, which meet at rank 0. The key keeps runs of one user apart; where the ranks
/// meet at localhost no port is opened, and the kernel keeps other users out. Between hosts a rank that
/// does not know the key cannot join, and is not told it; what is sent is not encrypted. Throws Error, which
/// names the ranks that are missing, after `timeout_seconds`.
Mesh join_ranks(const Launch& launch, double timeout_seconds);

}  // namespace rodeo::comm
