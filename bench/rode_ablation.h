/// Forms of RoDe SpMM with one part of the algorithm switched off, to measure what that part brings. The
/// library has no use for them. They differ in that part only: loads, tile and sums are those of the library.
/// The published forms are kernels of their own.
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
  /// Y = A X: weight [edges] or undefined, x [cols, n], all f32; n is a multiple of 32, or any if any_width.
  /// All of Y is written.
  std::function<Tensor(const Adjacency& adj, const RodePlan& plan, const Tensor& weight, const Tensor& x)>
      run;
  bool any_width = false;
};

/// The forms of a device, the full algorithm first. On the CPU there is only the full one.
///   "full"              the library's decomposition, order and pipeline
///   "no pipeline"       a sub-block is loaded, then added, then the next one is loaded
///   "no decomposition"  a warp a row, in the order of rows; no plan. N_S and N_B have no effect
///   "residues apart"    the text's decomposition in the library's kernel: the residue of every row is a part
///   of its
///                       own; parts of a row are added to a zeroed Y by atomicAdd, in the order of rows
///   "published, 4"      the text's kernels with sub-blocks of 4 nonzeros (rode_text.cu); "published, 8",
///   "published,
///                       16". N_S is 512 and N_B 32 whatever the options
/// All of them are verified in tests/bench/rode_ablation_test.cpp.
const std::vector<RodeForm>& rode_forms(Device device);

/// The published decomposition as a plan: block parts of whole blocks, cut into pieces of options.split, and
/// the residue of every row that has one. Split rows are not combined: num_split_rows() is 0.
RodePlan published_rode_plan(const Adjacency& adj, const RodeOptions& options);

/// The number of block pieces of a row by the text's formula. It is wrong at the edges: no piece for a row of
/// N_B nonzeros, and an empty one where N_S divides the length or what is left of it is below N_B.
constexpr std::int64_t printed_piece_count(std::int64_t length, const RodeOptions& options) {
  return length / options.split + (length > options.block);
}

}  // namespace rodeo::bench
