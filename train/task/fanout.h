/// The option --fanout.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rodeo {

/// "15,10,5" -> {15, 10, 5}; 10 for each layer if empty. Throws Error unless there is a number for each
/// layer, positive, or -1 for all neighbours without replacement.
std::vector<std::int64_t> parse_fanout(const std::string& text, int layers, bool replace);

}  // namespace rodeo
