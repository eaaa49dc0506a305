/// Collectives on CPU tensors by messages between pairs of ranks.
#pragma once

#include <memory>

#include "core/comm/backend.h"
#include "core/comm/call.h"
#include "core/comm/transport.h"

namespace rodeo::comm {

/// Also what a backend for a device needs of the host.
class HostBackend : public Backend {
 public:
  /// Tells all ranks what this one calls, and throws Error on all of them if the calls do not fit together.
  virtual void agree(const Call& call) = 0;
  virtual Transport& transport() = 0;
};

std::shared_ptr<HostBackend> make_host_backend(std::unique_ptr<Transport> transport);

}  // namespace rodeo::comm
