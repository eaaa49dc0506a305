/// The communicator of the process, for tests of several ranks.
#pragma once

#include "core/communicator.h"

namespace rodeo::test {

const Communicator& ranks();
/// Where the tensors of the tests are: the CPU, or the GPU of this rank.
Device device();

}  // namespace rodeo::test
