/// Collectives on CUDA tensors by NCCL. Ranks meet and compare their calls through a backend of the host.
#pragma once

#include <memory>

#include "core/comm/host_backend.h"

namespace rodeo::comm {

/// Connects the GPUs of all ranks in the first call; later calls share the connections, and name the same
/// device. All ranks throw the same Error if one of them has no NCCL, or if two use one GPU.
std::shared_ptr<Backend> make_nccl_backend(std::shared_ptr<HostBackend> host, Device device);

}  // namespace rodeo::comm
