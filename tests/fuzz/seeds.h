/// The seed corpus: small dataset files of every kind in the schema.
#pragma once

#include <string>
#include <vector>

namespace rodeo::fuzz {

/// The bytes of each file, the same on every call. `folder` is used for temporary files.
std::vector<std::string> seeds(const std::string& folder);

}  // namespace rodeo::fuzz
