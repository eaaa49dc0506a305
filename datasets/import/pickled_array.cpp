#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "datasets/import/pickle.h"

namespace rodeo {

Tensor pickled_array(Pickle value, const std::string& name) {
  // The state of numpy.ndarray: version, shape, dtype, Fortran order, bytes.
  const auto rule = [&](bool ok) { check(ok, name, " must be a NumPy array of numbers, in C order"); };
  rule(value && value->kind == PickleValue::Kind::kObject && value->state && value->state->items.size() == 5);
  const auto& state = value->state->items;
  const auto& sizes = state[1]->items;
  const Pickle dtype = state[2];
  rule((sizes.size() == 1 || sizes.size() == 2) && state[3]->integer == 0 &&
       state[4]->kind == PickleValue::Kind::kText);
  rule(dtype->kind == PickleValue::Kind::kObject && !dtype->items.empty() &&
       dtype->items[0]->kind == PickleValue::Kind::kText);
  const std::string &code = dtype->items[0]->text, &bytes = state[4]->text;
  // The state of numpy.dtype: version, byte order, and so on.
  const bool swapped = dtype->state && dtype->state->items.size() > 1 && dtype->state->items[1]->text == ">";
  std::int64_t count = 1;
  for (const Pickle size : sizes) {
    rule(size->kind == PickleValue::Kind::kInteger && size->integer >= 0 &&
         size->integer <= static_cast<std::int64_t>(bytes.size()) + 1);
    count *= size->integer;
  }
  const auto convert = [&]<class From, class To>(From, To) {
    rule(bytes.size() % sizeof(From) == 0 && static_cast<std::int64_t>(bytes.size() / sizeof(From)) == count);
    const std::int64_t rows = sizes[0]->integer;
    const Tensor out =
        Tensor::empty(sizes.size() == 1 ? Shape{rows} : Shape{rows, sizes[1]->integer}, dtype_of<To>());
    for (std::int64_t i = 0; i < count; ++i) {
      std::array<char, sizeof(From)> raw;
      std::memcpy(raw.data(), bytes.data() + i * std::ssize(raw), sizeof raw);
      if (swapped) std::reverse(raw.begin(), raw.end());
      const auto item = std::bit_cast<From>(raw);
      out.data<To>()[i] = static_cast<To>(item);
    }
    return out;
  };
  if (code == "i4") return convert(std::int32_t{}, std::int64_t{});
  if (code == "i8") return convert(std::int64_t{}, std::int64_t{});
  if (code == "u1" || code == "b1") return convert(std::uint8_t{}, std::int64_t{});
  if (code == "f4") return convert(float{}, float{});
  if (code == "f8") return convert(double{}, float{});
  fail(name, " has NumPy type '", code.substr(0, 8), "', expected i4, i8, u1, f4 or f8");
}

}  // namespace rodeo
