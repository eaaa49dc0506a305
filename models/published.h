/// Option checks shared by the models.
#pragma once

#include <string_view>
#include <vector>

#include "core/error.h"
#include "layers/convolution.h"

namespace rodeo {

template <class Options>
void check_sizes(std::string_view model, const Options& o) {
  check(o.in >= 1 && o.hidden >= 1 && o.classes >= 1 && o.layers >= 1, "[", model,
        "] in, hidden, classes and layers must be >= 1, got ", o.in, ", ", o.hidden, ", ", o.classes, " and ",
        o.layers);
  for (const double p : {o.dropout, o.input_dropout.value_or(0)})
    check(p >= 0 && p < 1, "[", model, "] dropout must be in [0, 1), got ", p);
}

/// Throws Error unless the blocks of a mini-batch fit together, one for each layer, and x is [sources, in].
inline void check_blocks(std::string_view model, const std::vector<ConvGraph>& blocks, int layers,
                         const Features& x) {
  check(std::ssize(blocks) == layers, "[", model, "] ", layers, " layers need a block each, got ",
        blocks.size());
  std::int64_t sources = x.dim(0);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    check(blocks[i].adj.cols() == sources && blocks[i].adj.rows() <= sources, "[", model, "] block ", i,
          " is [", blocks[i].adj.rows(), ", ", blocks[i].adj.cols(), "], but its input has ", sources,
          " rows");
    sources = blocks[i].adj.rows();
  }
}

}  // namespace rodeo
