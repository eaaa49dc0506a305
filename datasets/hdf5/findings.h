/// The rules that a file breaks, where all of them are wanted instead of the first.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"

namespace rodeo {

/// Runs a step of reading or checking a file. The text of its Error is appended to `findings`, and false
/// returned. Without `findings` it is thrown. OutOfMemory always is: it says nothing about the file.
template <class F>
bool collect(std::vector<std::string>* findings, F&& step) {
  try {
    step();
    return true;
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    if (!findings) throw;
    findings->emplace_back(error.what());
    return false;
  }
}

}  // namespace rodeo
