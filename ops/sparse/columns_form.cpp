// Each rank has a block of the columns, or some heads of attention, of all rows, and computes them on the
// whole graph. An all-to-all brings the columns, and another one returns the rows.
#include <algorithm>
#include <cmath>

#include "ops/combine.h"
#include "ops/dense.h"
#include "ops/kernels/exchange.h"
#include "ops/sparse/aggregation_forms.h"
#include "ops/sparse/graph_attention.h"
#include "ops/sparse/head_exchange.h"
#include "ops/sparse/spmm_sum.h"
#include "ops/sparse/whole_graph.h"

namespace rodeo {
namespace {

/// Elements of a load of 16 bytes: column blocks have whole loads.
std::int64_t load_width(std::size_t element_bytes) {
  return std::max<std::int64_t>(1, 16 / static_cast<std::int64_t>(element_bytes));
}

/// The columns of a rank: whole heads, or whole loads.
double columns_of_rank(const AggregationSizes& sizes) {
  if (sizes.heads > 0) {
    const double width = static_cast<double>(sizes.columns) / static_cast<double>(sizes.heads);
    return std::ceil(static_cast<double>(sizes.heads) / sizes.ranks) * width;
  }
  const auto load = static_cast<double>(load_width(sizes.element_bytes));
  return std::ceil(static_cast<double>(sizes.columns) / sizes.ranks / load) * load;
}

AggregationTime cost(const AggregationSizes& sizes, const AggregationRates& rates) {
  const auto nodes = static_cast<double>(sizes.nodes), edges = static_cast<double>(sizes.edges);
  const double p = sizes.ranks, local = nodes / p, others = nodes - local;
  const double row = row_bytes(sizes, static_cast<double>(sizes.columns));
  const double block = row_bytes(sizes, columns_of_rank(sizes));
  AggregationTime out;
  out.product_ms = product_ms(sizes, edges, nodes, block, rates);
  out.bytes_received = others * block + local * block * (p - 1);
  out.exchange_ms = 2 * receive_ms(out.bytes_received / 2, sizes.ranks, rates);
  if (sizes.ranks > 1) out.exchange_ms += rates.exchange_ms + 4 * local * row / rates.copy_bytes;
  return out;
}

bool supports(const AggregationProblem& problem) {
  return problem.kind != ProductKind::kOther && problem.kind != ProductKind::kWeightedSum;
}

/// Constant weights of 4 bytes take two more graphs: weights in both orders, the transpose, and 8 bytes an
/// edge while it is made.
bool is_candidate(const ShardedRows& shard, const AggregationProblem& problem) {
  return shard_plan(shard).fits(problem.kind == ProductKind::kConstantWeights ? 3 : 1);
}

Tensor sum_of_columns(const ShardedRows& shard, const WeightedGraph& graph, const Tensor& x,
                      const SpmmOptions& options) {
  const NodePartition& nodes = *shard.nodes;
  const Communicator& ranks = nodes.ranks();
  const std::int64_t rows = nodes.num_rows(), size = ranks.size(), n = x.dim(1);
  const std::int64_t load = load_width(size_of(x.dtype()));
  const std::int64_t width = ((n + size - 1) / size + load - 1) / load * load;
  const std::vector<std::int64_t> same(static_cast<std::size_t>(size), rows);
  const Tensor blocks = Tensor::empty({size, rows, width}, x.dtype(), x.device());
  if (blocks.numel() > 0) kernels::split_columns.on(x.device())(x, blocks);
  const Tensor columns = ranks.all_to_all(blocks.reshape({size * rows, width}), same, nodes.rows());
  const Tensor sum = spmm_sum(graph.adj, graph.weight, columns, options);
  const Tensor joined = ranks.all_to_all(sum, nodes.rows(), same).reshape({size, rows, width});
  const Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (y.numel() > 0) kernels::join_columns.on(y.device())(joined, y);
  return y;
}

Variable sum(const ShardedRows& shard, const Variable& weight, const Variable& x,
             const SpmmOptions& options) {
  const Tensor w = weight.defined() ? weight.value() : Tensor();
  return record("spmm", sum_of_columns(shard, whole_weighted(shard, w), x.value(), options), {x},
                [shard = shard, w, options](const Tensor& dy) {
                  return std::vector{sum_of_columns(shard, transposed_weighted(shard, w), dy, options)};
                });
}

HeadRange local_heads(const ShardedRows& shard, std::int64_t heads) {
  const Communicator& ranks = shard.nodes->ranks();
  return heads_of_rank(heads, ranks.size(), ranks.rank());
}

/// The options for all rows and the heads of the rank.
AttentionOptions of_heads(AttentionOptions options, const HeadRange& local) {
  options.key.first_row = 0;
  options.first_head += local.begin;
  return options;
}

Variable attention(const ShardedRows& shard, const Variable& s, const Variable& t, const Variable& x,
                   const AttentionOptions& options) {
  const NodePartition& nodes = *shard.nodes;
  const auto scores = [&](const Variable& of) {
    const Variable all = heads_of_rows(nodes, reshape(of, {of.dim(0), of.dim(1), 1}));
    return reshape(all, {all.dim(0), all.dim(1)});
  };
  const Variable all_s = scores(s), all_t = scores(t), all_x = heads_of_rows(nodes, x);
  const Variable y = graph_attention(whole_graph(shard), all_s, all_t, all_x,
                                     of_heads(options, local_heads(shard, x.dim(1))));
  return rows_of_heads(nodes, y, x.dim(1));
}

/// The scores are computed from the rows of all nodes: only x is sent.
Variable self_attention(const ShardedRows& shard, const Variable& x, const Variable& a_dst,
                        const Variable& a_src, const AttentionOptions& options) {
  const NodePartition& nodes = *shard.nodes;
  const HeadRange local = local_heads(shard, x.dim(1));
  const Variable all_x = heads_of_rows(nodes, x);
  const Variable y = graph_self_attention(whole_graph(shard), all_x, rows(a_dst, local.begin, local.end),
                                          rows(a_src, local.begin, local.end), of_heads(options, local));
  return rows_of_heads(nodes, y, x.dim(1));
}

void release(const Adjacency& rows, const AggregationChoices& choices) {
  const bool weighted = std::ranges::any_of(choices, [](const auto& choice) {
    return choice.first.kind == ProductKind::kConstantWeights && choice.second.form == Aggregation::kColumns;
  });
  if (!is_chosen(choices, Aggregation::kColumns)) release_whole_graph(rows);
  if (!weighted) release_whole_weights(rows);
}

}  // namespace

extern constinit const AggregationForm kColumnsForm{
    .form = Aggregation::kColumns,
    .cost = cost,
    .supports = supports,
    .supported = "sums and means without edge weights or with constant ones, and for the attention of GAT",
    .is_candidate = is_candidate,
    .gpus_only = true,
    .sum = sum,
    .attention = attention,
    .self_attention = self_attention,
    .graphs = whole_graphs,
    .release = release};

}  // namespace rodeo
