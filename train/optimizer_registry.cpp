#include "train/optimizer_registry.h"

#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "train/adam.h"
#include "train/sgd.h"

namespace rodeo {
namespace {

template <class Kind>
std::unique_ptr<Optimizer> make(std::vector<ParameterGroup> groups) {
  return std::make_unique<Kind>(std::move(groups));
}

constexpr OptimizerEntry kOptimizers[] = {
    {.name = "adam", .momentum = false, .make = make<Adam>},
    {.name = "adamw", .momentum = false, .make = make<AdamW>},
    {.name = "sgd", .momentum = true, .make = make<Sgd>},
};

}  // namespace

std::span<const OptimizerEntry> optimizer_registry() {
  return kOptimizers;
}

std::string optimizer_names(std::string_view separator) {
  return join(kOptimizers, separator, &OptimizerEntry::name);
}

const OptimizerEntry& find_optimizer(std::string_view name) {
  for (const OptimizerEntry& entry : kOptimizers)
    if (entry.name == name) return entry;
  fail("--optimizer must be one of ", optimizer_names(", "), ", got '", name, "'");
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options,
                                          std::vector<ParameterGroup> groups) {
  if (options.make) return options.make(std::move(groups));
  const OptimizerEntry& entry = find_optimizer(options.name);
  if (entry.momentum)
    for (ParameterGroup& group : groups) {
      group.options.momentum = options.momentum;
      group.options.nesterov = options.nesterov;
    }
  return entry.make(std::move(groups));
}

}  // namespace rodeo
