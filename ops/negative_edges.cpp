#include "ops/negative_edges.h"

#include <algorithm>
#include <tuple>

#include "ops/checks.h"
#include "ops/kernels/pairs.h"

namespace rodeo {

namespace {

/// `among` with all counts, in a graph of n nodes.
PairRange whole_range(PairRange among, std::int64_t n) {
  if (among.num_src < 0) among.num_src = n - among.first_src;
  if (among.num_dst < 0) among.num_dst = n - among.first_dst;
  for (const auto& [name, first, count] : {std::tuple{"source", among.first_src, among.num_src},
                                           std::tuple{"destination", among.first_dst, among.num_dst}})
    check(first >= 0 && count >= 0 && first + count <= n, "[negative_edges] the ", name, " nodes ", first,
          " to ", first + count, " are not all in a graph of ", n);
  return among;
}

/// Pairs of two different nodes.
std::int64_t count_pairs(const PairRange& among) {
  const std::int64_t begin = std::max(among.first_src, among.first_dst),
                     end = std::min(among.first_src + among.num_src, among.first_dst + among.num_dst);
  return among.num_src * among.num_dst - std::max<std::int64_t>(0, end - begin);
}

}  // namespace

void negative_edges(const Adjacency& adj, RandomKey key, const NodePairs& out, const PairRange& among) {
  check(adj.defined(), "[negative_edges] adj is undefined");
  const std::int64_t n = adj.rows();
  check(n == adj.cols(), "[negative_edges] the graph must be square, got ", n, " x ", adj.cols());
  for (const auto& [name, index] : {std::pair{"src", out.src}, {"dst", out.dst}}) {
    check(index.defined() && index.rank() == 1 && index.dtype() == DType::kI64, "[negative_edges] ", name,
          " must be i64 [k]");
    check_on_device_of("negative_edges", adj, name, index);
  }
  check_shape("negative_edges", "dst", out.dst, out.src.shape());
  if (out.src.numel() == 0) return;
  const PairRange range = whole_range(among, n);
  const std::int64_t pairs = count_pairs(range);
  check(adj.num_edges() < pairs, "[negative_edges] every pair of the ",
        range.num_src == n && range.num_dst == n ? str(n) : str(range.num_src, " and ", range.num_dst),
        " nodes may be an edge: ", adj.num_edges(), " edges, expected fewer than ", pairs);
  kernels::negative_edges.on(adj.device())(adj.csr(), range, key, out.src, out.dst);
}

NodePairs negative_edges(const Adjacency& adj, std::int64_t count, RandomKey key, const PairRange& among) {
  check(adj.defined(), "[negative_edges] adj is undefined");
  check(count >= 0, "[negative_edges] count must not be negative, got ", count);
  const NodePairs out{Tensor::empty({count}, DType::kI64, adj.device()),
                      Tensor::empty({count}, DType::kI64, adj.device())};
  negative_edges(adj, key, out, among);
  return out;
}

}  // namespace rodeo
