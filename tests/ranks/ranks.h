/// The communicator of the process, for tests of several ranks.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/communicator.h"

namespace rodeo::test {

const Communicator& ranks();
/// Where the tensors of the tests are: the CPU, or the GPU of this rank.
Device device();
/// A path in a folder of this launch that all ranks see. Other runs of the tests have folders of their own.
std::string shared_path(const std::string& name);

}  // namespace rodeo::test

/// Skips a test that has nothing to see on one rank.
#define RODEO_NEEDS_TWO_RANKS() \
  if (::rodeo::test::ranks().size() < 2) GTEST_SKIP() << "needs at least two ranks"
