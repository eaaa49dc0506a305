#include "layers/hetero_conv.h"

#include <cmath>
#include <vector>

#include "ops/combine.h"
#include "ops/dense.h"

namespace rodeo {

HeteroConvolution::HeteroConvolution(const char* name, const HeteroConvOptions& options)
    : name_(name), options_(options) {
  const auto& o = options;
  check(o.types >= 1 && o.relations >= 0 && o.in >= 1 && o.out >= 1 && o.heads >= 1, "[", name,
        "] types, in, out and heads must be >= 1, and relations >= 0, got ", o.types, ", ", o.in, ", ", o.out,
        ", ", o.heads, " and ", o.relations);
  check(o.out % o.heads == 0, "[", name, "] out must be a multiple of heads, got ", o.out, " and ", o.heads);
  check(o.attention_dropout >= 0 && o.attention_dropout < 1, "[", name,
        "] attention_dropout must be in [0, 1), got ", o.attention_dropout);
}

void HeteroConvolution::check_inputs(const HeteroGraph& graph, const Variable& x) const {
  check(graph.num_types() == options_.types && graph.num_relations() == options_.relations, "[", name_,
        "] the layer has ", options_.types, " types and ", options_.relations, " relations, the graph ",
        graph.num_types(), " and ", graph.num_relations());
  const Shape expected{graph.num_nodes(), options_.in};
  check(x.shape() == expected, "[", name_, "] x must be ", expected, ", got ", x.shape());
}

Tensor HeteroConvolution::glorot(const Shape& shape, Random& random, Device device, DType dtype) {
  const double bound = std::sqrt(6.0 / static_cast<double>(shape[-2] + shape[-1]));
  return uniform(shape, -bound, bound, random.next(), dtype, device);
}

Variable destinations(const HeteroGraph& graph, const Variable& x) {
  if (graph.is_whole()) return x;
  const std::vector<RowSegment> segments = graph.rows_by_type();
  std::vector<Tensor> parts;
  for (const RowSegment& s : segments) parts.push_back(x.value().slice(s.x_begin, s.x_begin + s.rows));
  const Shape shape = x.shape();
  return record("destinations", concat_rows(parts), {x}, [segments, shape](const Tensor& dy) {
    const Tensor dx = Tensor::zeros(shape, dy.dtype(), dy.device());
    for (const RowSegment& s : segments)
      dx.slice(s.x_begin, s.x_begin + s.rows).copy_from(dy.slice(s.y_begin, s.y_begin + s.rows));
    return std::vector{dx};
  });
}

}  // namespace rodeo
