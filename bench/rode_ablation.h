/// Forms of RoDe SpMM with one part of the algorithm switched off, to measure what that part brings. The
/// library has no use for them. They differ in that part only: loads, tile and sums are those of the library.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "core/adjacency.h"
#include "ops/plan/rode_plan.h"

namespace rodeo::bench {

struct RodeForm {
  std::string_view name;  // "no pipeline"
  std::string_view what;  // one phrase for the table's legend
  /// Makes the plan of a graph. Not timed.
  std::function<RodePlan(const Adjacency& adj, const RodeOptions& options)> plan;
  /// Y = A X: weight [edges] or undefined, x [cols, n], all f32; n is a multiple of 32. All of Y is written.
  std::function<Tensor(const Adjacency& adj, const RodePlan& plan, const Tensor& weight, const Tensor& x)>
      run;
};

/// The forms of a device, the full algorithm first. On the CPU there is only the full one.
///   "full"              the library's decomposition, order and pipeline
///   "no pipeline"       a sub-block is loaded, then added, then the next one is loaded
///   "no decomposition"  a warp a row, in the order of rows; no plan. N_S and N_B have no effect
///   "published"         the residue of every row is a part of its own; parts of a row are added to a zeroed
///   Y by
///                       atomicAdd; parts are in the order of rows
/// All of them are verified in tests/bench/rode_ablation_test.cpp.
const std::vector<RodeForm>& rode_forms(Device device);

/// The published decomposition as a plan: block parts of whole blocks, cut into pieces of options.split, and
/// the residue of every row that has one. Split rows are not combined: num_split_rows() is 0.
RodePlan published_rode_plan(const Adjacency& adj, const RodeOptions& options);

}  // namespace rodeo::bench
