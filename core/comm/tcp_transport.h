/// TCP between the processes of launch_ranks(), torchrun, srun or mpirun. Needs no library.
#pragma once

#include <memory>

#include "core/comm/launcher.h"
#include "core/comm/transport.h"

namespace rodeo::comm {

/// Joins the ranks in the first call; later calls share the connections. Throws Error if ranks are missing.
std::unique_ptr<Transport> make_tcp_transport(const Launch& launch, const CommunicatorOptions& options);

/// Does not return if another rank has ended all ranks.
void end_if_aborted();

}  // namespace rodeo::comm
