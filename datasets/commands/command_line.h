/// The subcommands of rodeo_data and their command line. Each subcommand is one file in this folder:
/// `int foo_command(argc, argv)` with its name in argv[0] returns the exit code and throws Error.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cxxopts.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/quoting.h"

namespace rodeo {

int features_command(int argc, const char* const* argv);
int generate_command(int argc, const char* const* argv);
int import_command(int argc, const char* const* argv);
int inspect_command(int argc, const char* const* argv);
int reorder_command(int argc, const char* const* argv);
int subset_command(int argc, const char* const* argv);
int unpack_command(int argc, const char* const* argv);
int validate_command(int argc, const char* const* argv);

struct Dataset;
/// "2708 nodes, 10556 edges, 1433 features, 7 classes"
std::string sizes_of(const Dataset& dataset);
struct HeteroDataset;
/// "dblp, 4 node types, 26128 nodes, 3 relations, 119783 edges; learns author, 4 classes".
std::string summary(const HeteroDataset& dataset);
/// `inspect` of a file of several node types.
void inspect_hetero(const std::string& path);

/// The formats of the import command: "planetoid, edgelist, ...".
std::string import_formats();

/// Prints one line, printable().
template <class... Parts>
void print_line(fmt::format_string<Parts...> text, Parts&&... parts) {
  fmt::print("{}\n", printable(fmt::format(text, std::forward<Parts>(parts)...)));
}

class CommandLine {
 public:
  /// `files` are the names of the positional arguments, e.g. "FILE OUT". All are required, except those in
  /// brackets: "FORMAT [SOURCE] FILE".
  CommandLine(const std::string& command, const std::string& about, const std::string& files);

  void option(const std::string& name, const std::string& about, const std::string& value);
  void flag(const std::string& name, const std::string& about);

  /// Returns false after printing --help.
  bool parse(int argc, const char* const* argv);

  const std::string& file(std::size_t i) const { return files_[i]; }
  /// The i-th file, which the command writes. Throws Error unless its name is that of an HDF5 file, and where
  /// another argument names the same file.
  const std::string& output(std::size_t i) const;
  std::size_t num_files() const { return files_.size(); }
  bool has(const std::string& option) const { return parsed_.count(option) > 0; }
  /// The values of an option that may be given several times.
  std::vector<std::string> texts(const std::string& option) const;
  std::string text(const std::string& option) const { return parsed_[option].as<std::string>(); }

  /// Sets `value` if the option is given.
  template <class T>
  void read(const std::string& option, T& value) const {
    if (!has(option)) return;
    const std::string given = text(option);
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
    check(error == std::errc{} && end == given.data() + given.size(), "--", option, " must be ",
          std::is_floating_point_v<T> ? "a number" : "an integer", ", got '", given, "'");
  }

 private:
  std::string command_, names_;
  cxxopts::Options options_;
  cxxopts::ParseResult parsed_;
  std::vector<std::string> files_;
};

}  // namespace rodeo
