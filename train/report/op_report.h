/// Kernel times of a KernelTimer as a table and as a trace.
#pragma once

#include <string>
#include <vector>

#include "core/kernel_timer.h"

namespace rodeo {

/// A table with a line per kernel, longest first, and the sum: calls, milliseconds, share, bytes of the
/// operands and GB/s.
std::string format_op_table(const std::vector<KernelSpan>& spans, int steps);

/// A JSON object in Chrome's trace event format, for Perfetto and chrome://tracing: a track of kernels, a
/// track of steps, and tensor memory as a counter.
std::string chrome_trace(const std::vector<KernelSpan>& spans, const std::string& device);

/// Tensor memory of the device in bytes at each kernel of the last observed step.
std::vector<double> memory_over_step(const std::vector<KernelSpan>& spans);

}  // namespace rodeo
