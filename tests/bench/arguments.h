/// Command lines of the benchmarks: what they have in common. Every function throws Error in one line that
/// names the option.
#pragma once

#include <cstdint>
#include <cxxopts.hpp>
#include <string>
#include <vector>

#include "datasets/synthetic.h"

namespace rodeo::bench {

using Texts = std::vector<std::string>;

/// `flags` is said where an option that takes no value is given one.
cxxopts::ParseResult parse_arguments(cxxopts::Options& options, const char* flags, int argc,
                                     const char* const* argv);
/// Unknown options, and arguments that are no option's.
void reject_strays(const cxxopts::ParseResult& parsed);

/// The value of an option, or of a list; empty where it is not given and has no default.
std::string one(const cxxopts::ParseResult& parsed, const std::string& option);
Texts list(const cxxopts::ParseResult& parsed, const std::string& option);
/// --graph: names of synthetic sizes.
Texts preset_list(const cxxopts::ParseResult& parsed);
/// The synthetic graph of that name; with its communities contiguous it is named -sorted.
SyntheticOptions preset_in_order(const std::string& size, bool shuffle);
/// Files that are there.
Texts file_list(const cxxopts::ParseResult& parsed, const std::string& option);

/// From 1 to 2^20.
std::int64_t positive(const std::string& option, const std::string& given);

}  // namespace rodeo::bench
