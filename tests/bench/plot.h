/// The results as pictures.
#pragma once

#include <string>

#include "tests/bench/results.h"

namespace rodeo::bench {

/// One SVG: for each graph, op and type a chart of milliseconds by columns, a line for each kernel.
std::string plot(const Report& report);

}  // namespace rodeo::bench
