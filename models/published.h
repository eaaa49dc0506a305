/// Options of a published model as those of its trunk.
#pragma once

#include "models/trunk.h"

namespace rodeo {

template <class Options>
TrunkOptions published(const Options& o, const ConvKind& conv, const TrunkPreset& preset,
                       const ConvOptions& layer = {}) {
  TrunkOptions out{.in = o.in,
                   .hidden = o.hidden,
                   .classes = o.classes,
                   .layers = o.layers,
                   .dropout = o.dropout,
                   .input_dropout = o.input_dropout,
                   .conv = &conv,
                   .preset = &preset,
                   .layer = layer};
  if constexpr (requires { o.spmm; }) out.spmm = o.spmm;
  return out;
}

}  // namespace rodeo
