/// What the fuzzer runs. A new target is a row in targets() and two functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rodeo::fuzz {

struct Target {
  std::string_view name;
  /// The input of a number: a function of its arguments, valid data with a few changes.
  std::string (*input)(std::uint64_t seed, std::uint64_t number);
  /// Reads the input. Returns or throws Error, of one line; anything else is a bug. `folder` keeps what an
  /// earlier input wrote there. Targets of several files replace the file that `number` says.
  void (*run)(const std::string& input, std::uint64_t number, const std::string& folder);
  /// The input is an HDF5 file. Where check_hdf5_file() refuses it, a crash is one of the HDF5 library.
  bool hdf5 = false;
};

std::span<const Target> targets();

// Rows of targets(), by what they read.
std::span<const Target> dataset_targets();
std::span<const Target> import_targets();
std::span<const Target> training_targets();

}  // namespace rodeo::fuzz
