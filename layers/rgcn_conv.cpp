#include "layers/rgcn_conv.h"

#include "ops/dense.h"
#include "ops/grouped_linear.h"
#include "ops/linear.h"

namespace rodeo {

RgcnConv::RgcnConv(const HeteroConvOptions& o, Random& random, Device device, DType dtype)
    : HeteroConvolution("rgcn_conv", o) {
  check(o.bases >= 0 && o.blocks >= 0 && (o.bases == 0 || o.blocks == 0),
        "[rgcn_conv] bases and blocks must be >= 0 and one of them 0, got ", o.bases, " and ", o.blocks);
  check(o.blocks == 0 || (o.in % o.blocks == 0 && o.out % o.blocks == 0),
        "[rgcn_conv] blocks must divide in and out, got ", o.blocks, ", ", o.in, " and ", o.out);
  const Shape shape = o.blocks > 0 ? Shape{o.relations, o.blocks, o.in / o.blocks, o.out / o.blocks}
                                   : Shape{o.bases > 0 ? o.bases : o.relations, o.in, o.out};
  register_parameter("weight", &w_, glorot(shape, random, device, dtype));
  if (o.bases > 0) register_parameter("comp", &comp_, glorot({o.relations, o.bases}, random, device, dtype));
  if (o.root_weight) register_parameter("root", &root_, glorot({o.in, o.out}, random, device, dtype));
  if (o.bias) register_parameter("bias", &b_, Tensor::zeros({o.out}, dtype, device));
}

Variable RgcnConv::relation_weights() const {
  if (!comp_.defined()) return w_;
  const std::int64_t in = options_.in, out = options_.out;
  return reshape(matmul(comp_, reshape(w_, {options_.bases, in * out})), {options_.relations, in, out});
}

Variable RgcnConv::forward(const HeteroGraph& graph, const Variable& x, RandomKey) const {
  check_inputs(graph, x);
  const Variable y = relational_linear(graph, x, relation_weights(), options_.relational);
  if (root_.defined()) return add(y, linear(destinations(graph, x), root_, b_));
  return b_.defined() ? add_bias(y, b_) : y;
}

HeteroSageConv::HeteroSageConv(const HeteroConvOptions& o, Random& random, Device device, DType dtype)
    : HeteroConvolution("hetero_sage_conv", o) {
  register_parameter("weight", &w_, glorot({o.relations, o.in, o.out}, random, device, dtype));
  if (!o.root_weight) return;
  register_parameter("root", &root_, glorot({o.types, o.in, o.out}, random, device, dtype));
  if (o.bias) register_parameter("bias", &b_, Tensor::zeros({o.types, o.out}, dtype, device));
}

Variable HeteroSageConv::forward(const HeteroGraph& graph, const Variable& x, RandomKey) const {
  check_inputs(graph, x);
  const Variable y = relational_linear(graph, x, w_, options_.relational);
  return root_.defined() ? add(y, grouped_linear(x, graph.rows_by_type(), graph.num_rows(), root_, b_)) : y;
}

const HeteroConvKind kRgcn{.name = "rgcn",
                           .heads = false,
                           .decomposes = true,
                           .make = [](const HeteroConvOptions& o, Random& random, Device device,
                                      DType dtype) -> std::unique_ptr<HeteroConvolution> {
                             return std::make_unique<RgcnConv>(o, random, device, dtype);
                           }};

const HeteroConvKind kHeteroSage{.name = "hetero-sage",
                                 .heads = false,
                                 .decomposes = false,
                                 .make = [](const HeteroConvOptions& o, Random& random, Device device,
                                            DType dtype) -> std::unique_ptr<HeteroConvolution> {
                                   return std::make_unique<HeteroSageConv>(o, random, device, dtype);
                                 }};

}  // namespace rodeo
