/// Reads Python pickles (protocols 0 to 5, binary opcodes) as plain values. Nothing is executed or imported:
/// a class is represented by its name, an object by its constructor arguments and state.
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
using Pickle = PickleValue*;  // points into a PickleFile; not null unless stated

struct PickleValue {
  enum class Kind { kNone, kInteger, kFloat, kText, kList, kDict, kClass, kObject };
  Kind kind = Kind::kNone;
  std::int64_t integer = 0;  // also bools
  double number = 0;
  std::string text;           // strings and bytes; classes: "module name"; objects: their class
  std::vector<Pickle> items;  // lists and tuples; dicts: key, value, key, value, ...; objects: arguments
  Pickle state = nullptr;     // objects; may be null

  /// The value of a text key in a dict, or nullptr.
  Pickle find(std::string_view key) const;
};

/// Owns all values. References between values can be cyclic.
struct PickleFile {
  std::unique_ptr<std::deque<PickleValue>> values;
  Pickle root = nullptr;
};

/// Throws Error with file and byte position for truncated or damaged pickles and for other opcodes. Memory is
/// bounded by the length of the text.
PickleFile parse_pickle(std::string_view bytes, const std::string& name);
PickleFile read_pickle(const std::string& path);

/// Converts a pickled 1D or 2D numpy.ndarray in C order to f32 or i64. Throws Error for other values.
Tensor pickled_array(Pickle value, const std::string& name);

}  // namespace rodeo
