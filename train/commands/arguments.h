/// The words of a command line, which cxxopts reads.
#pragma once

#include <cxxopts.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "train/task/train_option.h"

namespace rodeo {

struct Arguments {
  std::vector<std::string> texts;  // the first is the program

  /// Throws Error for an option without a value, and for a flag with one.
  cxxopts::ParseResult parse(cxxopts::Options& options) const;
  /// The last value of --option; empty if it is not given.
  std::string last_value(std::string_view option) const;
};

/// Adds an option: a flag where `hint` is empty, else one with a value, which is read as text.
/// TrainOption::set converts it, so that an error names the option and its range.
void add_option(cxxopts::Options& options, std::string_view group, std::string_view name,
                std::string_view help, std::string_view hint, const std::string& default_text = "");

/// The options of the table that the command line gives.
std::vector<GivenOption> given_options(const cxxopts::ParseResult& parsed,
                                       const std::vector<TrainOption>& table);

/// All options, without dashes.
std::vector<std::string> option_names(const cxxopts::Options& options);

/// "rodeo_train 0.4.0 (0123abc)", for --version.
std::string version_line(std::string_view program);

}  // namespace rodeo
