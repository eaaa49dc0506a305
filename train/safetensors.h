/// Tensors by name in the safetensors format of Hugging Face, which PyTorch, JAX and NumPy read: 8 bytes with
/// the length of a JSON header, the header, the values in one block.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor.h"

namespace rodeo {

/// Host tensors in the file's order, and texts that describe them.
struct SafeTensors {
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::map<std::string, std::string> metadata;

  /// The tensor of that name; throws Error naming it where there is none.
  const Tensor& at(const std::string& name) const;
  bool has(const std::string& name) const;
};

/// Replaces `path` at once (see AtomicFile). Tensors may be on any device. Throws Error for a name that is
/// empty, twice there or "__metadata__", for text that is not UTF-8, and where the file cannot be written.
void write_safetensors(const std::string& path, const SafeTensors& contents);

/// Reads and checks a file, which may come from anywhere: nothing is believed before it is checked, and no
/// memory is taken that the file's size does not account for. Throws Error of one line naming the file, the
/// tensor and the rule: for a header that is too long (kMaxHeader), no JSON or has a name twice, types other
/// than F64 F32 BF16 F16 I64 I32 U8 BOOL (a u8 here), more than four dimensions, sizes that contradict
/// shapes, values that overlap, leave gaps or end elsewhere than the file.
SafeTensors read_safetensors(const std::string& path);

inline constexpr std::uint64_t kMaxSafeTensorsHeader = 100'000'000;  // as the format's own library has it

}  // namespace rodeo
