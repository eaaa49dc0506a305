// Builds without MPI.
#include "core/comm/mpi_transport.h"
#include "core/error.h"

namespace rodeo::comm {

bool built_with_mpi() {
  return false;
}

std::unique_ptr<Transport> make_mpi_transport(const Launch&, const CommunicatorOptions&) {
  fail("[communicator] this build has no MPI: install libopenmpi-dev and configure with -DRODEO_MPI=ON");
}

}  // namespace rodeo::comm
