/// Small dataset files of every kind that the schema knows, for the fuzzer to start from.
#pragma once

#include <string>
#include <vector>

namespace rodeo::fuzz {

/// The bytes of each; the same on every call. Written into and read back from `folder`.
std::vector<std::string> seeds(const std::string& folder);

}  // namespace rodeo::fuzz
