#include "layers/rgat_conv.h"

#include <vector>

#include "ops/attention.h"
#include "ops/combine.h"
#include "ops/dense.h"
#include "ops/grouped_linear.h"
#include "ops/relational.h"
#include "ops/spmm.h"

namespace rodeo {

RgatConv::RgatConv(const HeteroConvOptions& o, Random& random, Device device, DType dtype)
    : HeteroConvolution("rgat_conv", o) {
  register_parameter("weight", &w_, glorot({o.relations, o.in, o.out}, random, device, dtype));
  for (const auto& [name, slot] : {std::pair{"att_dst", &a_dst_}, {"att_src", &a_src_}})
    register_parameter(name, slot, glorot({o.relations, o.heads, o.out / o.heads}, random, device, dtype));
  if (!o.root_weight) return;
  register_parameter("root", &root_, glorot({o.types, o.in, o.out}, random, device, dtype));
  if (o.bias) register_parameter("bias", &b_, Tensor::zeros({o.types, o.out}, dtype, device));
}

Variable RgatConv::score_weights(const Variable& a) const {
  const std::int64_t relations = options_.relations, in = options_.in, heads = options_.heads;
  std::vector<RowSegment> segments;
  for (std::int64_t r = 0; r < relations; ++r) segments.push_back({r * in, r * in, in});
  const Variable products =
      grouped_linear(reshape(w_, {relations * in, options_.out}), segments, relations * in,
                     reshape(a, {relations, heads, options_.out / heads, 1}));
  return reshape(products, {relations, in, heads});
}

Variable RgatConv::forward(const HeteroGraph& graph, const Variable& x, RandomKey key) const {
  check_inputs(graph, x);
  const std::int64_t stack = graph.num_sources(), targets = graph.num_targets();
  const auto by_source = [&](const Variable& w) {
    return transpose_last(sort_relations(graph.source_order(), w));
  };
  const auto by_target = [&](const Variable& w) {
    return transpose_last(sort_relations(graph.target_order(), w));
  };
  const std::vector<RowSegment> to_stack = graph.nodes_to_stack();
  std::vector<GroupedProduct> of_x{
      {.segments = to_stack, .rows = stack, .w = by_source(w_), .fans_out = true},
      {.segments = to_stack, .rows = stack, .w = by_source(score_weights(a_src_)), .fans_out = true},
      {.segments = graph.nodes_to_targets(),
       .rows = targets,
       .w = by_target(score_weights(a_dst_)),
       .fans_out = true}};
  if (root_.defined()) of_x.push_back({graph.rows_by_type(), graph.num_rows(), root_, b_});
  const std::vector<Variable> products = grouped_products(x, of_x);
  const Variable &z = products[0], &t = products[1], &s = products[2];
  const Variable y = gat_attention(graph.relation_blocks(), s, t,
                                   reshape(z, {stack, options_.heads, options_.out / options_.heads}),
                                   {.negative_slope = options_.negative_slope,
                                    .dropout = training() ? options_.attention_dropout : 0,
                                    .key = key});
  const Variable sum = spmm(graph.sum_relations(), reshape(y, {targets, options_.out}));
  return root_.defined() ? add(sum, products[3]) : sum;
}

const HeteroConvKind kRgat{.name = "rgat",
                           .heads = true,
                           .decomposes = false,
                           .make = [](const HeteroConvOptions& o, Random& random, Device device,
                                      DType dtype) -> std::unique_ptr<HeteroConvolution> {
                             return std::make_unique<RgatConv>(o, random, device, dtype);
                           }};

}  // namespace rodeo
