/// Parsing helpers for the command lines of the benchmarks. Every function throws Error in one line that
/// names the option.
#pragma once

#include <cstdint>
#include <cxxopts.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "datasets/synthetic.h"

namespace rodeo::bench {

using Texts = std::vector<std::string>;

/// `flags` is the error text for a value given to an option that takes none.
cxxopts::ParseResult parse_arguments(cxxopts::Options& options, const char* flags, int argc,
                                     const char* const* argv);
/// Throws Error for unknown options and for positional arguments.
void reject_strays(const cxxopts::ParseResult& parsed);

/// The value of an option, or of a list option. Empty if it is not given and has no default.
std::string one(const cxxopts::ParseResult& parsed, const std::string& option);
Texts list(const cxxopts::ParseResult& parsed, const std::string& option);
/// --graph: names of synthetic presets and, where `large`, of large graphs (large_graph.h).
Texts preset_list(const cxxopts::ParseResult& parsed, bool large = false);
/// --node-order: shuffled or community; empty: the order of each preset.
std::vector<std::optional<bool>> node_orders(const cxxopts::ParseResult& parsed);
/// The synthetic preset of that name. An order that is not its own is part of its name: "-sorted" (contiguous
/// communities, or the order of the grid) or "-shuffled".
SyntheticOptions preset_in_order(const std::string& size, std::optional<bool> shuffle);
/// A list of files that exist.
Texts file_list(const cxxopts::ParseResult& parsed, const std::string& option);

/// f32, f16, bf16 or f64.
DType parse_dtype(const std::string& text);
/// An integer from 1 to 2^20.
std::int64_t positive(const std::string& option, const std::string& given);

/// The command that runs this program again without those options and their values.
std::vector<std::string> arguments_without(int argc, const char* const* argv,
                                           const std::vector<std::string>& names);

}  // namespace rodeo::bench
