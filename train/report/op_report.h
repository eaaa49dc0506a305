/// What an KernelTimer saw, for people and for trace viewers.
#pragma once

#include <string>
#include <vector>

#include "core/kernel_timer.h"

namespace rodeo {

/// A line for each kernel, the longest first: calls, milliseconds and their share, megabytes of its operands
/// and gigabytes a second; then the sum.
std::string format_op_table(const std::vector<KernelSpan>& spans, int steps);

/// The same as a JSON object in Chrome's trace event format, which Perfetto and chrome://tracing open: a line
/// of kernels, one of steps, and the memory of tensors as a counter.
std::string chrome_trace(const std::vector<KernelSpan>& spans, const std::string& device);

/// Bytes of tensors on the device at each kernel of the last step that was seen.
std::vector<double> memory_over_step(const std::vector<KernelSpan>& spans);

}  // namespace rodeo
