/// Splits of the nodes into training, validation and test sets.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace rodeo {

struct Split {
  Tensor train, val, test;  // i64, ascending and disjoint

  std::array<Tensor, 3> sets() const { return {train, val, test}; }
  std::array<std::int64_t, 3> sizes() const { return {train.numel(), val.numel(), test.numel()}; }
  /// Undefined sets stay undefined.
  Split to(Device device) const { return {train.to(device), val.to(device), test.to(device)}; }
};
/// What errors call the sets.
inline constexpr std::array<const char*, 3> kSetNames = {"training", "validation", "test"};

/// `ids` in an order drawn from (seed, stream), the same on every machine.
std::vector<std::int64_t> shuffled(const std::vector<std::int64_t>& ids, std::uint64_t seed,
                                   std::uint64_t stream);

/// A random split of the labelled nodes.
///   y         i64 [nodes]  nodes with a negative label are excluded; or u8 [nodes, classes]; or f32 [nodes,
///             targets]: nodes whose targets are all NaN are excluded
///   parts     train/val/test, not negative: percentages with a sum of 100 such as "60/20/20" or
///   "7.5/2.5/90",
///             or fractions with a sum of at most 1 such as "0.6/0.2/0.2" or "0.1/0.1/0.1";
///             or "class:20/500/1000": planetoid_split() with 20 training nodes of each class,
///             or "class:20/500/1000@123": torch_split() with seed 123, whatever `seed` is
/// A function of y, parts and seed on every machine. A part ends at position round(n * (its fraction and
/// those before it)) of a random order, so 100 percent cover all n nodes. Throws Error for any other text.
Split random_split(const Tensor& y, const std::string& parts, std::uint64_t seed = 0);

/// The Planetoid split (Yang et al., ICML 2016): in a random order, the first `train_per_class` nodes of
/// every class, then `val` and `test` of the others. Throws Error for too few nodes, or a label too large.
Split planetoid_split(const Tensor& y, std::int64_t num_classes, std::int64_t train_per_class,
                      std::int64_t val, std::int64_t test, std::uint64_t seed = 0);

/// A split of the sizes of planetoid_split(), by the permutations that torch.randperm draws on the CPU after
/// torch.manual_seed(seed): one of the nodes of each class, class by class, then one of all other nodes.
/// Papers whose code draws so share their split by its seed: Luo, Shi and Wu (NeurIPS 2024) have 123. seed <
/// 2^32. Throws Error likewise.
Split torch_split(const Tensor& y, std::int64_t num_classes, std::int64_t train_per_class, std::int64_t val,
                  std::int64_t test, std::uint64_t seed);

}  // namespace rodeo
