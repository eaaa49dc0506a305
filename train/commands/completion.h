/// Shell completion from the option table. Part of train/task/options.cpp: it includes the parser.
#pragma once

#include <cxxopts.hpp>
#include <string>
#include <vector>

namespace rodeo {

/// The options of one model; `model` is empty for a command that trains one alone.
struct ModelTable {
  std::string model;
  cxxopts::Options options;
};

/// A script for `shell`, "bash" or "zsh", that completes options and, where the table's hint tells, their
/// values: "a|b|c" is a choice, FILE and DIR are paths. Of several tables the one counts that --model names,
/// the first where it is absent. Throws Error for another shell.
std::string completion_script(const std::string& shell, const std::string& program,
                              const std::vector<ModelTable>& tables);

}  // namespace rodeo
