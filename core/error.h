/// Errors. The library throws rodeo::Error, whose text says what was expected, what it got and, if useful,
/// what to do:  [spmm] x must be [3, n], got [4, 5].
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace rodeo {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Not enough memory for a tensor.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// Concatenates values with operator<<.
template <class... Parts>
std::string str(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw Error(str(parts...));
}

/// Throws Error with the concatenated parts unless `ok`. The parts may be evaluated before `ok`: a call whose
/// errno they name stands in a statement of its own.
template <class... Parts>
void check(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]]
    fail(parts...);
}

}  // namespace rodeo
