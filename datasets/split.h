/// Splits of the nodes into training, validation and test sets.
#pragma once

#include <cstdint>
#include <string>

#include "core/tensor.h"

namespace rodeo {

struct Split {
  Tensor train, val, test;  // i64, ascending and disjoint
};

/// A random split of the labelled nodes.
///   y         i64 [nodes]  nodes with a negative label are excluded; or u8 [nodes, classes]
///   percents  train/val/test such as "60/20/20" or "7.5/2.5/90": not negative, with a sum of at most 100
/// A function of y, percents and seed on every machine. Part i ends at position
/// round(n * (sum of percents up to i) / 100) of a random order, so 100 percent cover all n nodes.
Split random_split(const Tensor& y, const std::string& percents, std::uint64_t seed = 0);

/// The Planetoid split (Yang et al., ICML 2016): in a random order, the first `train_per_class` nodes of
/// every class, then `val` and `test` of the others. Throws Error if there are too few nodes.
Split planetoid_split(const Tensor& y, std::int64_t num_classes, std::int64_t train_per_class,
                      std::int64_t val, std::int64_t test, std::uint64_t seed = 0);

}  // namespace rodeo
