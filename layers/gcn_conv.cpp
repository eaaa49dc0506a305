#include "layers/gcn_conv.h"

#include <utility>

#include "core/node_partition.h"
#include "ops/all_gather.h"
#include "ops/dense.h"
#include "ops/linear.h"

namespace rodeo {
namespace {

/// A (X W) multiplies by A in forward and backward; (A X) W only in forward if X requires no gradient.
bool sums_first(std::int64_t in, std::int64_t out) {
  return in < 2 * out;
}

}  // namespace

GcnConv::GcnConv(std::int64_t in, std::int64_t out, Random& random, bool bias, Device device, DType dtype)
    : in_(in), out_(out) {
  check(in >= 1 && out >= 1, "[gcn_conv] sizes must be >= 1, got ", in, " -> ", out);
  register_parameter("lin.weight", &w_, glorot_uniform(in, out, random.next(), dtype, device),
                     TorchLayout::kTransposed);
  if (bias) register_parameter("bias", &b_, Tensor::zeros({out}, dtype, device));
}

Variable GcnConv::forward(const GcnGraph& graph, const Features& x, const SpmmOptions& options) const {
  return forward(graph, x, options, {});
}

Variable GcnConv::forward(const GcnGraph& graph, Features x, const SpmmOptions& options,
                          const Fusion& fusion) const {
  if (fusion.input == Fusion::Input::kPropagated) return linear(x, w_, b_, {.then = fusion.epilogue});
  return multiply(graph, std::move(x), options, fusion.input == Fusion::Input::kScaled, fusion.epilogue);
}

Variable GcnConv::convolve(const ConvGraph& graph, Features x, const ConvCall& call) const {
  if (graph.is_block)
    return forward(GcnBlock{graph.adj, graph.weight, graph.col_scale, graph.row_scale}, x, call.spmm,
                   call.then);
  if (call.keeps_input && graph.is_whole() && !x.is_sparse() && !x.requires_grad()) {
    const Tensor& kept = propagated_.get(graph.adj, x.dense().value(), [&](const Tensor& h) {
      return propagate(GcnGraph{graph.adj, graph.weight, graph.row_scale}, h, call.spmm);
    });
    return linear(Features(kept), w_, b_, {.then = call.then});
  }
  return multiply(graph, std::move(x), call.spmm, call.is_scaled, call.then);
}

bool GcnConv::can_be_padded(const ConvGraph& whole, const SpmmOptions& spmm) const {
  return sums_without_plan(Reduce::kSum, spmm) && !whole.weight.defined();
}

Variable GcnConv::multiply(const ConvGraph& by, Features x, const SpmmOptions& options, bool is_scaled,
                           EpilogueOptions then) const {
  const GcnGraph graph{by.adj, by.weight, by.row_scale};
  const auto scaled = [&](const Variable& h) { return is_scaled ? h : scale_rows(h, by.col_scale); };
  then.pre_scale = graph.scale;
  if (x.is_sparse()) {
    const Features h = is_scaled ? x : dropout(x, 0, {}, by.col_scale);
    return epilogue(aggregate(graph, matmul(h, w_), options), b_, then, out_);
  }
  const bool once = !x.requires_grad() && w_.requires_grad() && grad_enabled();
  // What a product has read is freed before the next one allocates its result.
  if (once ? sums_first(in_, out_) : in_ < out_) {
    if (x.has_rows_of_all_ranks() && by.adj.is_sharded()) {
      const ShardedRows& shard = *by.adj.shard();
      const Tensor& scale = all_scales_.get(by.adj, by.col_scale,
                                            [&](const Tensor& own) { return all_gather(*shard.nodes, own); });
      Variable all(x.rows_of_all_ranks(scale));
      x = {};
      const Variable sum = aggregate(GcnGraph{shard.rows, by.weight, {}}, std::exchange(all, {}), options);
      return linear(sum, w_, b_, {.then = then});
    }
    Variable h = scaled(x.dense());
    x = {};
    const Variable sum = aggregate(graph, std::exchange(h, {}), options);
    return linear(sum, w_, b_, {.then = then});
  }
  const std::int64_t columns = padded_columns(out_, x.dtype(), x.device());
  const EpilogueOptions first{.pre_scale = is_scaled ? Tensor() : by.col_scale};
  const Variable product = linear(x, w_, {}, {.then = first, .columns = columns});
  return epilogue(aggregate(graph, product, options), b_, then, out_);
}

Variable GcnConv::forward(const GcnBlock& block, const Features& x, const SpmmOptions& options,
                          EpilogueOptions then) const {
  check_block_features("gcn_conv", block.adj, x, in_);
  then.pre_scale = block.target_scale;
  if (in_ < out_) return linear(aggregate(block, x.dense(), options), w_, b_, {.then = then});
  return epilogue(aggregate(block, matmul(x, w_), options), b_, then);
}

const ConvKind kGcn{
    .name = "gcn",
    .traits = {.graph = GraphInput::kGcnNorm, .scaled_inputs = true, .sums_first = sums_first},
    .make = [](const ConvOptions& o, Random& random, Device device,
               DType dtype) -> std::unique_ptr<Convolution> {
      return std::make_unique<GcnConv>(o.in, o.out, random, o.bias, device, dtype);
    }};

}  // namespace rodeo
