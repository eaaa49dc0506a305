/// Recording of operators that have several results.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "core/variable.h"

namespace rodeo {

/// Computes dL/d(input), one entry per input of the op, from dL/d(y[i]). dy[i] is undefined where nothing
/// depends on y[i].
using OutputsRule = std::function<std::vector<Tensor>(const std::vector<Tensor>& dy)>;

/// record() (core/variable.h) of an op with the results y: wraps each in a Variable. backward() calls the
/// rule once, after the gradients of all results that the root depends on. Their second derivatives are an
/// Error.
/// saved[i] is as in record().
std::vector<Variable> record_outputs(std::string_view op, const std::vector<Tensor>& y,
                                     const std::vector<Variable>& inputs, OutputsRule rule,
                                     const std::vector<SavedTensor>& saved = {});

}  // namespace rodeo
