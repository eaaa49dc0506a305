/// MPI between processes of mpirun or srun. Built where CMake finds MPI (RODEO_MPI).
#pragma once

#include <memory>

#include "core/comm/launcher.h"
#include "core/comm/transport.h"

namespace rodeo::comm {

bool built_with_mpi();

/// Initialises MPI in the first call. Throws Error if MPI finds other ranks than the launcher's environment
/// names, or is not part of this build.
std::unique_ptr<Transport> make_mpi_transport(const Launch& launch, const CommunicatorOptions& options);

}  // namespace rodeo::comm
