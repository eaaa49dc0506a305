/// gradcheck (core/gradcheck.h) of a whole layer or model.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/gradcheck.h"
#include "layers/module.h"

namespace rodeo {

/// Checks the gradients of all parameters of `layer`, under their names, and of the named inputs; forward()
/// reads both by its own handles:
///   gradcheck_layer(conv, [&] { return conv.forward(adj, x); }, {{"x", x}})
/// The layer's parameters are f64. Randomness in forward (dropout) must be the same in every call: fixed
/// keys, or layer.eval(). options.names is not looked at.
/// Shapes, determinism and errors: as gradcheck has them.
GradcheckResult gradcheck_layer(const Module& layer, const std::function<Variable()>& forward,
                                const std::vector<std::pair<std::string, Variable>>& inputs = {},
                                GradcheckOptions options = {});

}  // namespace rodeo
