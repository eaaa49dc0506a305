/// Collectives on CPU tensors by messages between pairs of ranks.
#pragma once

#include <memory>

#include "core/comm/backend.h"
#include "core/comm/transport.h"

namespace rodeo::comm {

std::shared_ptr<Backend> make_host_backend(std::unique_ptr<Transport> transport);

}  // namespace rodeo::comm
