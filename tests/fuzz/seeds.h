/// The seed corpus: small dataset files of every kind in the schema.
#pragma once

#include <string>
#include <vector>

#include "tests/support/hdf5_checksums.h"

namespace rodeo::fuzz {

struct Seed {
  std::string bytes;
  std::vector<test::ChecksumBlock> checksums;  // of its metadata; none in the oldest format of HDF5
};

/// Every call returns the same seeds. `folder` is used for temporary files.
std::vector<Seed> seeds(const std::string& folder);

}  // namespace rodeo::fuzz
