/// Results as an SVG plot.
#pragma once

#include <string>

#include "bench/results.h"

namespace rodeo::bench {

/// One SVG with a chart of milliseconds by columns for each graph, op, dtype and kind of weights; one line
/// per kernel.
std::string plot(const Report& report);

}  // namespace rodeo::bench
