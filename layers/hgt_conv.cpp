#include "layers/hgt_conv.h"

#include <vector>

#include "ops/combine.h"
#include "ops/dense.h"
#include "ops/dot_attention.h"
#include "ops/gelu.h"
#include "ops/grouped_linear.h"
#include "ops/pointwise.h"
#include "ops/relational.h"

namespace rodeo {
namespace {

/// Each row of x [m, ...] times its element of v [m]. For parameters, which are small.
Variable scale_each(const Variable& x, const Variable& v) {
  const std::int64_t m = v.shape().numel(), n = m == 0 ? 0 : x.shape().numel() / m;
  const Variable ones(Tensor::full({1, n}, 1, v.dtype(), v.device()));
  return mul(x, reshape(matmul(reshape(v, {m, 1}), ones), x.shape()));
}

}  // namespace

HgtConv::HgtConv(const HeteroConvOptions& o, Random& random, Device device, DType dtype)
    : HeteroConvolution("hgt_conv", o) {
  const std::int64_t d = o.out / o.heads;
  register_linear("k_lin", key_, o.in, random, device, dtype);
  register_linear("q_lin", query_, o.in, random, device, dtype);
  register_linear("v_lin", value_, o.in, random, device, dtype);
  register_linear("out_lin", out_, o.out, random, device, dtype);
  for (const auto& [name, slot] :
       {std::pair{"k_rel.weight", &key_relation_}, {"v_rel.weight", &value_relation_}})
    register_parameter(name, slot, glorot({o.relations, o.heads, d, d}, random, device, dtype));
  register_parameter("p_rel", &p_, Tensor::full({o.relations, o.heads}, 1, dtype, device));
  if (o.root_weight && o.in == o.out)
    register_parameter("skip", &skip_, Tensor::full({o.types}, 1, dtype, device));
}

void HgtConv::register_linear(const std::string& name, TypedLinear& linear, std::int64_t in, Random& random,
                              Device device, DType dtype) {
  register_parameter(name + ".weight", &linear.weight,
                     glorot({options_.types, in, options_.out}, random, device, dtype));
  if (options_.bias)
    register_parameter(name + ".bias", &linear.bias,
                       Tensor::zeros({options_.types, options_.out}, dtype, device));
}

GroupedProduct HgtConv::project_stack(const HeteroGraph& graph, const TypedLinear& linear,
                                      const Variable& relation) const {
  const std::int64_t in = options_.in, out = options_.out, relations = options_.relations;
  std::vector<RowSegment> matrices, biases;  // of the source type of each relation
  for (int r = 0; r < graph.num_relations(); ++r) {
    matrices.push_back({graph.src_type(r) * in, r * in, in});
    biases.push_back({graph.src_type(r), r, 1});
  }
  const Variable weight =
      grouped_linear(reshape(linear.weight, {options_.types * in, out}), matrices, relations * in, relation);
  const Variable bias =
      linear.bias.defined() ? grouped_linear(linear.bias, biases, relations, relation) : Variable();
  const Adjacency& order = graph.source_order();
  return {.segments = graph.nodes_to_stack(),
          .rows = graph.num_sources(),
          .w = transpose_last(sort_relations(order, reshape(weight, {relations, in, out}))),
          .bias = bias.defined() ? sort_relations(order, bias) : bias,
          .fans_out = true};
}

Variable HgtConv::finish(const HeteroGraph& graph, const Variable& x, const Variable& attended) const {
  const std::int64_t rows = graph.num_rows();
  std::vector<RowSegment> by_type = graph.rows_by_type();
  for (RowSegment& segment : by_type) segment.x_begin = segment.y_begin;
  const Variable h = gelu(attended);
  if (!skip_.defined()) return grouped_linear(h, by_type, rows, out_.weight, out_.bias);
  const Variable s = sigmoid(skip_), one(Tensor::full({options_.types}, 1, s.dtype(), s.device()));
  const Variable y = grouped_linear(h, by_type, rows, scale_each(out_.weight, s),
                                    out_.bias.defined() ? scale_each(out_.bias, s) : Variable());
  // 1 - s of the type of each row and column.
  const Variable rest = reshape(linear_combination(1, one, -1, s), {options_.types, 1, 1});
  const Variable spread(Tensor::full({1, options_.out}, 1, s.dtype(), s.device()));
  const Variable by_column =
      reshape(matmul(reshape(rest, {options_.types, 1}), spread), {options_.types, 1, options_.out});
  const Variable share =
      grouped_linear(Variable(Tensor::full({rows, 1}, 1, x.dtype(), x.device())), by_type, rows, by_column);
  return add(y, mul(destinations(graph, x), share));
}

Variable HgtConv::forward(const HeteroGraph& graph, const Variable& x, RandomKey key) const {
  check_inputs(graph, x);
  const std::int64_t heads = options_.heads, d = options_.out / heads;
  const auto by_heads = [&](const Variable& h) { return reshape(h, {h.dim(0), heads, d}); };
  const Variable key_relation = scale_each(reshape(key_relation_, {options_.relations * heads, d * d}),
                                           reshape(p_, {options_.relations * heads}));
  const std::vector<Variable> products = grouped_products(
      x, {project_stack(graph, key_, reshape(key_relation, {options_.relations, heads, d, d})),
          project_stack(graph, value_, value_relation_),
          {.segments = graph.rows_by_type(),
           .rows = graph.num_rows(),
           .w = query_.weight,
           .bias = query_.bias}});
  const Variable k = by_heads(products[0]), v = by_heads(products[1]), q = by_heads(products[2]);
  const Variable y = dot_attention(graph.stacked(), q, k, v, {}, {},
                                   {.dropout = training() ? options_.attention_dropout : 0, .key = key});
  return finish(graph, x, reshape(y, {graph.num_rows(), options_.out}));
}

const HeteroConvKind kHgt{.name = "hgt",
                          .heads = true,
                          .decomposes = false,
                          .make = [](const HeteroConvOptions& o, Random& random, Device device,
                                     DType dtype) -> std::unique_ptr<HeteroConvolution> {
                            return std::make_unique<HgtConv>(o, random, device, dtype);
                          }};

}  // namespace rodeo
