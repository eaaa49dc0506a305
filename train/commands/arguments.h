/// The words of a command line, which cxxopts reads.
#pragma once

#include <cxxopts.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace rodeo {

struct Arguments {
  std::vector<std::string> texts;  // the first is the program

  /// Throws Error for an option without a value, and for a flag with one.
  cxxopts::ParseResult parse(cxxopts::Options& options) const;
  /// The last value of --option; empty if it is not given.
  std::string last_value(std::string_view option) const;
};

/// All options, without dashes.
std::vector<std::string> option_names(const cxxopts::Options& options);

/// "rodeo_train 0.4.0 (0123abc)", for --version.
std::string version_line(std::string_view program);

}  // namespace rodeo
