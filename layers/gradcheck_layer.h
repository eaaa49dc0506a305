/// gradcheck (core/gradcheck.h) for a layer or model.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/gradcheck.h"
#include "layers/module.h"

namespace rodeo {

/// Checks the gradients of the named inputs and of all parameters of `layer`. forward() takes no arguments:
/// it uses its own handles to them.
///   gradcheck_layer(conv, [&] { return conv.forward(adj, x); }, {{"x", x}})
/// The parameters must be f64. Dropout in forward must be the same in every call: use fixed keys or
/// layer.eval(). options.names is ignored. Otherwise as gradcheck().
GradcheckResult gradcheck_layer(const Module& layer, const std::function<Variable()>& forward,
                                const std::vector<std::pair<std::string, Variable>>& inputs = {},
                                GradcheckOptions options = {});

}  // namespace rodeo
