#include "bench/large_graph.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "bench/large_graph_draws.h"
#include "ops/convert.h"
#include "ops/gather_rows.h"
#include "ops/select_rows.h"
#include "ops/spmm.h"

namespace rodeo::bench {
namespace {

void draw_pairs(std::int64_t nodes, const Tensor& low, const Tensor& high) {
#if RODEO_WITH_CUDA
  if (low.device().is_cuda()) return cuda::draw_pairs(nodes, low, high);
#endif
  auto *l = low.data<std::int32_t>(), *h = high.data<std::int32_t>();
#pragma omp parallel for
  for (std::int64_t i = 0; i < low.numel(); ++i) {
    const DrawnPair pair = draw_pair(i, nodes);
    l[i] = pair.low, h[i] = pair.high;
  }
}

/// Returns the number of edges, and writes them where row is not null.
std::int64_t draw_edges(const RowDraw& rows, std::int32_t* row, std::int32_t* col,
                        [[maybe_unused]] Device device) {
#if RODEO_WITH_CUDA
  if (device.is_cuda()) return cuda::draw_edges(rows, row, col, device);
#endif
  std::int64_t edges = 0;
  for (std::int64_t i = 0; i < rows.pairs + rows.count; ++i)
    for_edges_of(rows, i, [&](std::int32_t r, std::int32_t c) {
      if (row) row[edges] = r, col[edges] = c;
      ++edges;
    });
  return edges;
}

/// x [rows, features]: of the nodes from `first` on.
void draw_values(std::int64_t first, const Tensor& x) {
#if RODEO_WITH_CUDA
  if (x.device().is_cuda()) return cuda::draw_values(first, x);
#endif
  auto* values = x.data<float>();
#pragma omp parallel for
  for (std::int64_t i = 0; i < x.numel(); ++i) values[i] = draw_value(first + i);
}

}  // namespace

std::optional<LargeGraph> large_graph(std::string_view name) {
  constexpr std::string_view kPapers = "papers100M";
  if (!name.starts_with(kPapers)) return std::nullopt;
  LargeGraph graph{.name = std::string(name)};
  std::string_view rest = name.substr(kPapers.size());
  if (rest.empty()) return graph;
  std::int64_t part = 0;
  const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), part);
  constexpr std::int64_t kMost = 100'000;
  if (rest.front() != '/' || error != std::errc{} || end != rest.data() + rest.size() || part < 1 ||
      part > kMost)
    return std::nullopt;
  for (std::int64_t* size : {&graph.nodes, &graph.edges, &graph.train, &graph.val, &graph.test})
    *size = std::max<std::int64_t>(1, *size / part);
  return graph;
}

Adjacency draw_graph(const LargeGraph& graph, Device device) {
  const std::int64_t pairs = graph.edges / 2;
  const Tensor low = Tensor::empty({pairs}, DType::kI32, device),
               high = Tensor::empty({pairs}, DType::kI32, device);
  draw_pairs(graph.nodes, low, high);
  return coo_to_csr(low, high, graph.nodes, graph.nodes, {.symmetrize = true, .self_loops = SelfLoops::kDrop})
      .adj;
}

Adjacency draw_rows(const LargeGraph& graph, std::int64_t first, std::int64_t count, bool self_loops,
                    Device device) {
  const RowDraw rows{graph.nodes, graph.edges / 2, first, count, self_loops};
  const std::int64_t edges = draw_edges(rows, nullptr, nullptr, device);
  const Tensor row = Tensor::empty({edges}, DType::kI32, device),
               col = Tensor::empty({edges}, DType::kI32, device);
  draw_edges(rows, row.data<std::int32_t>(), col.data<std::int32_t>(), device);
  return coo_to_csr(row, col, count, graph.nodes, {.drop_duplicates = true}).adj;
}

Tensor draw_features(const LargeGraph& graph, std::int64_t first, std::int64_t count, DType dtype,
                     Device device) {
  constexpr std::int64_t kRows = 1 << 22;  // at a time
  const Tensor x = Tensor::empty({count, graph.features}, dtype, device);
  for (std::int64_t begin = 0; begin < count; begin += kRows) {
    const std::int64_t end = std::min(count, begin + kRows);
    const Tensor part = Tensor::empty({end - begin, graph.features}, DType::kF32, device);
    draw_values((first + begin) * graph.features, part);
    x.slice(begin, end).copy_from(part.to(dtype));
  }
  return x;
}

Tensor draw_features(const LargeGraph& graph, DType dtype, Device device) {
  return draw_features(graph, 0, graph.nodes, dtype, device);
}

Tensor labelled_nodes(const LargeGraph& graph, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> nodes;
  for (std::int64_t i = 0; i < count; ++i) nodes.push_back(node_of_rank(first + i, graph.nodes));
  return Tensor::from(nodes);
}

void verify_sums(const Adjacency& adj, const Tensor& x) {
  const Tensor y = spmm(adj, x);
  constexpr std::int64_t kRows = 64;
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < kRows; ++i) rows.push_back(adj.rows() * i / kRows);
  rows.push_back(adj.rows() - 1);
  const Tensor some = Tensor::from(rows, adj.device());
  const Csr part = select_rows(adj, some).adj.to(kCpu).csr();
  const Tensor read = gather_rows(x, part.col.to(DType::kI64).to(adj.device())).to(kCpu).to(DType::kF64),
               found = gather_rows(y, some).to(kCpu).to(DType::kF64);
  const std::int64_t n = x.dim(1);
  const auto* row_ptr = part.row_ptr.data<std::int64_t>();
  const double relative = x.dtype() == DType::kF32 ? 1e-5 : 1e-2;  // of the sum of magnitudes
  for (std::int64_t i = 0; i < part.rows; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e) {
        const double value = read.data<double>()[e * n + j];
        sum += value, magnitude += std::abs(value);
      }
      const double got = found.data<double>()[i * n + j];
      check(std::abs(got - sum) <= relative * magnitude, "[epoch_bench] row ",
            rows[static_cast<std::size_t>(i)], ", column ", j, " of A X is ", got, ", and the sum in f64 is ",
            sum);
    }
}

}  // namespace rodeo::bench
