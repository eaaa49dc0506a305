/// Optimizers by name, as --optimizer gives them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rodeo {

class Optimizer;
struct ParameterGroup;

/// The optimizer of a run.
struct OptimizerOptions {
  std::string name = "adam";  // in the registry
  double momentum = 0;        // of all groups, for those with OptimizerEntry::momentum
  bool nesterov = false;
  /// Makes an optimizer of the program's own, instead of that of `name`. Null: none.
  std::unique_ptr<Optimizer> (*make)(std::vector<ParameterGroup> groups) = nullptr;
};

/// A row of the registry.
struct OptimizerEntry {
  std::string_view name;
  bool momentum;  // reads GroupOptions::momentum and nesterov
  std::unique_ptr<Optimizer> (*make)(std::vector<ParameterGroup> groups);
};

/// All rows.
std::span<const OptimizerEntry> optimizer_registry();
/// "adam|adamw|sgd", with `separator` between the names.
std::string optimizer_names(std::string_view separator);
/// The row of that name. Throws Error listing the names for any other.
const OptimizerEntry& find_optimizer(std::string_view name);
/// The optimizer of `options` over `groups`. Throws Error as find_optimizer and its constructor do.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options,
                                          std::vector<ParameterGroup> groups);

}  // namespace rodeo
