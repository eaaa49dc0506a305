/// Shell completion scripts. Includes cxxopts: for train/commands/parse_options.cpp.
#pragma once

#include <cxxopts.hpp>
#include <string>
#include <vector>

namespace rodeo {

/// The options of one model; `model` is empty for a command that trains a single model.
struct ModelTable {
  std::string model;
  cxxopts::Options options;
};

/// A script for `shell`, "bash" or "zsh", that completes options and their values, by the placeholder in
/// --help: "a|b|c" lists choices, FILE and DIR are paths. Completes the options of the model that --model
/// names, else of the first table. Throws Error for another shell.
std::string completion_script(const std::string& shell, const std::string& program,
                              const std::vector<ModelTable>& tables);

}  // namespace rodeo
