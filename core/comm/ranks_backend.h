/// Several ranks: messages of the host for CPU tensors, NCCL for CUDA tensors.
#pragma once

#include <memory>

#include "core/comm/host_backend.h"

namespace rodeo::comm {

std::shared_ptr<Backend> make_ranks_backend(std::shared_ptr<HostBackend> host);

}  // namespace rodeo::comm
