/// Labels that are not what they seem.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.h"

namespace rodeo {

/// What labels were understood as, where they look like others, and how to say otherwise: a sentence each.
///   label     as Dataset::y, on the host
///   examples  "nodes", "graphs"; array: "/y"
/// Throws Error for classes of fewer than two examples on average, of at least 20: amounts, or ids.
std::vector<std::string> check_label_kind(const Tensor& label, std::string_view examples,
                                          std::string_view array);

}  // namespace rodeo
