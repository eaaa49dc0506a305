#include "layers/link_decoder.h"

#include "ops/dense.h"
#include "ops/gather_rows.h"
#include "ops/pairs.h"
#include "ops/pointwise.h"

namespace rodeo {
namespace {

/// [k] -> [k, 1]
Variable as_column(const Variable& s) {
  return record("as_column", s.value().reshape({s.dim(0), 1}), {s},
                [](const Tensor& dy) { return std::vector{dy.reshape({dy.dim(0)})}; });
}

}  // namespace

LinkDecoder::LinkDecoder(DecoderKind kind, std::int64_t width, Random& random, Device device, DType dtype,
                         std::int64_t relations)
    : kind_(kind) {
  check(width >= 1, "[link_decoder] width must be at least 1, got ", width);
  if (kind == DecoderKind::kMlp) {
    nn_ = std::make_unique<Sequential>();
    nn_->add(std::make_unique<Linear>(width, width, random, true, device, dtype))
        .add(Sequential::Step([](const Variable& x) { return relu(x); }))
        .add(std::make_unique<Linear>(width, 1, random, true, device, dtype));
    register_module("nn", nn_.get());
  }
  if (kind == DecoderKind::kBilinear) {
    lin_ = std::make_unique<Linear>(width, width, random, false, device, dtype);
    register_module("lin", lin_.get());
  }
  if (kind == DecoderKind::kDistmult)
    register_parameter("rel_emb.weight", &relations_,
                       glorot_uniform(relations, width, random.next(), dtype, device));
}

Variable LinkDecoder::forward(const Variable& z, const NodePairs& pairs) const {
  const auto& [src, dst, relation] = pairs;
  if (kind_ == DecoderKind::kDistmult) {
    const Tensor of_pair =
        relation.defined() ? relation : Tensor::zeros(src.shape(), DType::kI64, z.device());
    const Variable weight = z.dtype() == relations_.dtype() ? relations_ : cast(relations_, z.dtype());
    return matmul(mul(pair_mul(z, z, src, dst), gather_rows(weight, of_pair)),
                  Variable(Tensor::full({z.dim(1), 1}, 1, z.dtype(), z.device())));
  }
  if (kind_ == DecoderKind::kMlp) return nn_->forward(pair_mul(z, z, src, dst));
  return as_column(pair_dot(lin_ ? lin_->forward(z) : z, z, src, dst));
}

}  // namespace rodeo
