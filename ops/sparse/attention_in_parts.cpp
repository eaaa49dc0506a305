#include "ops/sparse/attention_in_parts.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "ops/combine.h"
#include "ops/plan/attention_config.h"
#include "ops/sparse/graph_attention.h"
#include "ops/sparse/shapes.h"

namespace rodeo {
namespace {

/// Some heads, with the rows of all ranks.
struct Part {
  std::int64_t begin, end;  // heads
  Tensor s, t, x, y;
  AttentionOptions options;
  kernels::AttentionSaved saved;
};
using Parts = std::vector<Part>;

Parts cut(const Tensor& x, const AttentionOptions& options) {
  const std::int64_t heads = x.dim(1);
  const std::int64_t each = heads_of_part(heads, x.dim(2), static_cast<int>(size_of(x.dtype())));
  Parts parts;
  for (std::int64_t begin = 0; begin < heads; begin += each) {
    Part part{begin, std::min(heads, begin + each), {}, {}, {}, {}, options, {}};
    part.options.first_head += begin;
    parts.push_back(part);
  }
  return parts;
}

/// The columns of the part's heads of x [n, heads, k], as a matrix.
Tensor of_part(const Part& part, const Tensor& x) {
  return columns(as_matrix(x), part.begin * x.dim(2), part.end * x.dim(2));
}

void compute(const ShardedRows& share, const Tensor& s, const Tensor& t, const Tensor& x, bool recorded,
             Parts& parts) {
  const NodePartition& nodes = *share.nodes;
  const Communicator& ranks = nodes.ranks();
  const Tensor all_t = ranks.all_gather(t, nodes.rows());
  const auto start = [&](const Part& part) { return ranks.start_all_gather(of_part(part, x), nodes.rows()); };
  if (!parts.empty()) parts[0].x = start(parts[0]);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Part& part = parts[i];
    ranks.finish(part.x);
    if (i + 1 < parts.size()) parts[i + 1].x = start(parts[i + 1]);
    part.x = part.x.reshape({nodes.num_nodes(), part.end - part.begin, x.dim(2)});
    part.s = columns(s, part.begin, part.end), part.t = columns(all_t, part.begin, part.end);
    part.y =
        fused_attention(share.rows, part.s, part.t, part.x, part.options, recorded ? &part.saved : nullptr);
  }
}

std::vector<Tensor> gradients(const ShardedRows& share, const Tensor& dy, const Parts& parts) {
  const NodePartition& nodes = *share.nodes;
  const Communicator& ranks = nodes.ranks();
  std::vector<Tensor> ds, dt, dx;
  for (const Part& part : parts) {
    const Tensor own = of_part(part, dy).reshape(part.y.shape());
    kernels::AttentionVectors none;
    const kernels::AttentionGradients of = fused_attention_gradients(
        share.rows, part.s, part.t, part.x, part.options, part.y, part.saved, own, none);
    if (!dx.empty()) ranks.finish(dx.back());
    dx.push_back(ranks.start_reduce_scatter(as_matrix(of.dx), nodes.rows()));
    ds.push_back(of.ds), dt.push_back(of.dt);
  }
  if (!dx.empty()) ranks.finish(dx.back());
  return {concat_columns(ds), ranks.reduce_scatter(concat_columns(dt), nodes.rows()),
          concat_columns(dx).reshape(dy.shape())};
}

}  // namespace

Variable attention_in_parts(const ShardedRows& share, const Variable& s, const Variable& t, const Variable& x,
                            const AttentionOptions& options) {
  const bool recorded = grad_enabled() && (s.requires_grad() || t.requires_grad() || x.requires_grad());
  const auto parts = std::make_shared<Parts>(cut(x.value(), options));
  compute(share, s.value(), t.value(), x.value(), recorded, *parts);
  std::vector<Tensor> y;
  for (const Part& part : *parts) y.push_back(as_matrix(part.y));
  const ShardedRows of = share;
  return record("gat_attention", concat_columns(y).reshape(x.shape()), {s, t, x},
                [of, parts](const Tensor& dy) { return gradients(of, dy, *parts); });
}

}  // namespace rodeo
