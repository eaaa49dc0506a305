/// Which nodes train, validate and test.
#pragma once

#include <cstdint>
#include <string>

#include "core/tensor.h"

namespace rodeo {

struct Split {
  Tensor train, val, test;  // i64, ascending; no node is in two
};

/// A random split of the nodes with a label.
///   y         i64 [nodes]  nodes with a negative label are left out; or u8 [nodes, classes]
///   percents  train/val/test such as "60/20/20" or "7.5/2.5/90": not negative, at most 100 together
/// The same for the same y, percents and seed, everywhere. Of n nodes, part i ends at place
/// round(n * (sum of percents up to i) / 100) of a random order, so that 100 percent leave nobody out.
Split random_split(const Tensor& y, const std::string& percents, std::uint64_t seed = 0);

/// As Planetoid does (Yang et al., ICML 2016): the first `train_per_class` nodes of every class, then `val`
/// and `test` others, in a random order. Throws Error where there are too few.
Split planetoid_split(const Tensor& y, std::int64_t num_classes, std::int64_t train_per_class,
                      std::int64_t val, std::int64_t test, std::uint64_t seed = 0);

}  // namespace rodeo
