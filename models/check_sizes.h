/// Option checks shared by the models.
#pragma once

#include <string_view>

#include "core/error.h"

namespace rodeo {

template <class Options>
void check_sizes(std::string_view model, const Options& o) {
  check(o.in >= 1 && o.hidden >= 1 && o.classes >= 1 && o.layers >= 1, "[", model,
        "] in, hidden, classes and layers must be >= 1, got ", o.in, ", ", o.hidden, ", ", o.classes, " and ",
        o.layers);
  for (const double p : {o.dropout, o.input_dropout.value_or(0)})
    check(p >= 0 && p < 1, "[", model, "] dropout must be in [0, 1), got ", p);
}

}  // namespace rodeo
