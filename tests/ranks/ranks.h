/// The communicator of the process, for tests that mpirun starts.
#pragma once

#include "core/communicator.h"

namespace rodeo::test {

const Communicator& ranks();

}  // namespace rodeo::test
