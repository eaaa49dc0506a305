/// Reading Python pickles (protocols 0 to 5, binary opcodes) as plain values. Nothing is ever executed or
/// imported: a class is its name, an object what it was made from.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/tensor.h"

namespace rodeo {

struct PickleValue;
using Pickle = PickleValue*;  // into a PickleFile; never null unless a comment says so

struct PickleValue {
  enum class Kind { kNone, kInteger, kFloat, kText, kList, kDict, kClass, kObject };
  Kind kind = Kind::kNone;
  std::int64_t integer = 0;  // also of bools
  double number = 0;
  std::string text;  // of strings and bytes; of classes "module name"; of objects their class
  std::vector<Pickle>
      items;               // of lists and tuples; of dicts key, value, key, value, ...; of objects arguments
  Pickle state = nullptr;  // of objects

  /// The value of a text key in a dict, or nullptr.
  Pickle find(std::string_view key) const;
};

/// Owns all values, which may refer to each other in circles.
struct PickleFile {
  std::unique_ptr<std::deque<PickleValue>> values;
  Pickle root = nullptr;
};

/// Throws Error that names the file and the place in it for what is truncated, damaged or uses other opcodes.
/// Memory follows the length of the text.
PickleFile parse_pickle(std::string_view bytes, const std::string& name);
PickleFile read_pickle(const std::string& path);

/// A pickled numpy.ndarray of one or two dimensions in C order, as f32 or i64. Throws Error for anything
/// else.
Tensor pickled_array(Pickle value, const std::string& name);

}  // namespace rodeo
