/// Reads and writes the safetensors format of Hugging Face, which PyTorch, JAX and NumPy read too. A file
/// holds the length of a JSON header in 8 bytes, the header, and the values of all tensors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor.h"

namespace rodeo {

/// Named host tensors in the file's order, and metadata.
struct SafeTensors {
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::map<std::string, std::string> metadata;

  /// Throws Error if there is no tensor of that name.
  const Tensor& at(const std::string& name) const;
  bool has(const std::string& name) const;
};

/// Replaces `path` atomically. Tensors may be on any device. Throws Error for an empty or repeated name, the
/// name "__metadata__", text that is not UTF-8, and a file that cannot be written.
void write_safetensors(const std::string& path, const SafeTensors& contents);

/// Reads a file from an untrusted source: every value is checked before use, and allocations are bounded by
/// the file's size. Throws Error in one line naming the file, the tensor and the rule, for
/// - a header longer than kMaxSafeTensorsHeader, that is not JSON, or that has a name twice;
/// - dtypes other than F64, F32, BF16, F16, I64, I32, U8 and BOOL (read as u8);
/// - more than four dimensions, and byte counts that do not match the shape;
/// - values that overlap, leave gaps, or end before or after the end of the file.
SafeTensors read_safetensors(const std::string& path);

inline constexpr std::uint64_t kMaxSafeTensorsHeader = 100'000'000;  // the limit of the format's own library

}  // namespace rodeo
