#include "layers/rgat_conv.h"

#include <vector>

#include "ops/attention.h"
#include "ops/combine.h"
#include "ops/dense.h"
#include "ops/features.h"
#include "ops/gather_rows.h"
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
  // Where x has no gradient, as features have none, the sources that edges read are gathered and projected.
  const ReadSources* const read = graph.is_block() && !x.requires_grad() ? &graph.read_sources() : nullptr;
  const std::int64_t sources = read ? read->nodes.numel() : graph.num_sources(),
                     targets = graph.num_targets();
  const auto of_sources = [&](const Variable& w) -> GroupedProduct {
    if (read) return {.segments = read->relations, .rows = sources, .w = w};
    return {.segments = graph.nodes_to_stack(),
            .rows = sources,
            .w = transpose_last(sort_relations(graph.source_order(), w)),
            .fans_out = true};
  };
  std::vector<GroupedProduct> of_x{of_sources(w_), of_sources(score_weights(a_src_))};
  // The largest array of a whole graph. In a block time counts for more than memory.
  of_x[0].recompute =
      !graph.is_block() &&
      sources * options_.out * static_cast<std::int64_t>(size_of(x.dtype())) >= kRecomputeBytes;
  std::vector<Variable> products;
  if (read) {
    products = grouped_products(Variable(gather_rows(x.value(), read->nodes)), of_x);
    of_x.clear();
  }
  of_x.push_back({.segments = graph.nodes_to_targets(),
                  .rows = targets,
                  .w = transpose_last(sort_relations(graph.target_order(), score_weights(a_dst_))),
                  .fans_out = true});
  if (root_.defined()) of_x.push_back({graph.rows_by_type(), graph.num_rows(), root_, b_});
  for (Variable& product : grouped_products(x, of_x)) products.push_back(std::move(product));
  const Variable &z = products[0], &t = products[1], &s = products[2];
  const Variable y = gat_attention(read ? read->blocks : graph.relation_blocks(), s, t,
                                   reshape(z, {sources, options_.heads, options_.out / options_.heads}),
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
