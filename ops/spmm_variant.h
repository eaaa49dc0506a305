/// What SpmmAlgorithm::kRode and kRodeTc run. Each has several kernels, chosen by the graph and the product.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "core/adjacency.h"
#include "ops/spmm_choice.h"
#include "ops/spmm_types.h"

namespace rodeo {

/// Whether it runs on CUDA only. Such an algorithm takes one weight an edge: heads run one after another.
bool is_only_cuda(SpmmAlgorithm algorithm);
/// Whether its products round f32 operands to TF32, 10 bits of mantissa.
bool rounds_to_tf32(SpmmAlgorithm algorithm);

/// What runs for one product.
struct SpmmVariant {
  /// The name of the algorithm, but for kRode on CUDA one of
  ///   "rode"        a warp for each piece, a group of lanes for each residual row: the published mapping
  ///   "rode-small"  a thread block for each piece, up to a warp for each residual row
  ///   "rode-tiny"   a thread for each element of Y, all operands in shared memory; the plan is not used
  std::string_view name;
  // Kernels and column tiles of kRode on CUDA, and of kRodeTc's form for dense row blocks.
  std::string launches;
};
/// "rode-small (teams: 1 tile of 8 lanes x 1 load)"
std::ostream& operator<<(std::ostream& out, const SpmmVariant& variant);

/// What `algorithm` runs for a product of this kind, with X and edge weights at addresses that are multiples
/// of 16 bytes, as allocations are. Runs no product; plans are made if they are not cached. `algorithm` is
/// not kAuto.
SpmmVariant spmm_variant(const Adjacency& adj, const SpmmProblem& problem,
                         SpmmAlgorithm algorithm = SpmmAlgorithm::kRode, const RodeOptions& options = {});

/// What kRode and kRodeTc ran on this graph where they were asked for by name, on CUDA and without heads: a
/// line for each kind of product. Empty before the first one.
std::string explain_rode(const Adjacency& adj);

}  // namespace rodeo
