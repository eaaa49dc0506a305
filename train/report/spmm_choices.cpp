#include "train/report/spmm_choices.h"

#include "ops/convert.h"
#include "ops/spmm_tuner.h"

namespace rodeo {

std::string format_spmm_choices(SpmmAlgorithm requested, const Adjacency& adj) {
  if (requested != SpmmAlgorithm::kAuto) return str("spmm ", requested, ": asked for\n");
  const Adjacency transposed = transpose_pattern(adj);
  std::string text = "spmm auto, the graph:\n" + explain_spmm(adj);
  if (!(transposed == adj)) text += "spmm auto, its transpose:\n" + explain_spmm(transposed);
  return text;
}

}  // namespace rodeo
