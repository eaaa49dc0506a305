#include "datasets/positional_encoding.h"

#include <cmath>
#include <numeric>

#include "datasets/feature_file.h"
#include "datasets/jacobi.h"
#include "datasets/synthetic_graphs.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"

namespace rodeo::test {
namespace {

class DatasetsPositionalEncoding : public OnDevice {};
RODEO_ON_ALL_DEVICES(DatasetsPositionalEncoding);

using Doubles = std::vector<double>;
using Nodes = std::vector<std::int32_t>;

Graph graph_of(std::int64_t nodes, const Nodes& src, const Nodes& dst,
               const std::vector<float>& weight = {}) {
  Dataset data;
  data.num_nodes = nodes;
  data.src = Tensor::from(src), data.dst = Tensor::from(dst);
  if (!weight.empty()) data.edge_weight = Tensor::from(weight);
  return to_graph(data, kCpu);
}

/// Undirected, with the weights 1, 2, 3, 1, ... where they are asked for.
Graph undirected(std::int64_t nodes, const Nodes& a, const Nodes& b, bool weighted = false) {
  Nodes src = a, dst = b;
  src.insert(src.end(), b.begin(), b.end());
  dst.insert(dst.end(), a.begin(), a.end());
  std::vector<float> weight;
  for (std::size_t e = 0; weighted && e < src.size(); ++e)
    weight.push_back(1 + static_cast<float>(e % a.size() % 3));
  return graph_of(nodes, src, dst, weight);
}

/// A ring of nodes [0, n), or a path.
Graph ring(std::int32_t n, bool closed = true, bool weighted = false) {
  Nodes a(static_cast<std::size_t>(n - !closed)), b;
  std::iota(a.begin(), a.end(), 0);
  for (const std::int32_t i : a) b.push_back((i + 1) % n);
  return undirected(n, a, b, weighted);
}

/// A [sources, destinations], row by row.
Doubles dense(const Graph& graph) {
  const std::int64_t n = graph.adj.rows();
  const auto* ptr = graph.adj.csr().row_ptr.data<std::int64_t>();
  Doubles a(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t e = ptr[i]; e < ptr[i + 1]; ++e)
      a[static_cast<std::size_t>(graph.adj.csr().col.data<std::int32_t>()[e] * n + i)] +=
          graph.weight.defined() ? graph.weight.data<float>()[e] : 1;
  return a;
}

Doubles product(const Doubles& a, const Doubles& b, std::size_t n) {
  Doubles c(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
  return c;
}

Doubles walks(const Graph& graph, std::size_t steps) {
  const auto n = static_cast<std::size_t>(graph.adj.rows());
  Doubles p = dense(graph), out(n * steps);
  for (std::size_t i = 0; i < n; ++i) {
    const double degree = std::accumulate(p.begin() + i * n, p.begin() + (i + 1) * n, 0.0);
    for (std::size_t j = 0; j < n; ++j) p[i * n + j] /= degree > 0 ? degree : 1;
  }
  Doubles power = p;
  for (std::size_t k = 0; k < steps; ++k, power = product(power, p, n))
    for (std::size_t i = 0; i < n; ++i) out[i * steps + k] = power[i * n + i];
  return out;
}

/// I - D^-1/2 A D^-1/2 without self loops; 0 at isolated nodes.
Doubles dense_laplacian(const Graph& graph) {
  const auto n = static_cast<std::size_t>(graph.adj.rows());
  Doubles l = dense(graph), degree(n);
  for (std::size_t i = 0; i < n; ++i) {
    l[i * n + i] = 0;
    degree[i] = std::accumulate(l.begin() + i * n, l.begin() + (i + 1) * n, 0.0);
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      if (const double scale = std::sqrt(degree[i] * degree[j]); scale > 0)
        l[i * n + j] = (i == j) - l[i * n + j] / scale;
  return l;
}

/// The columns of `got` are the first eigenvectors of L that are not of the eigenvalue 0, then zeros.
void expect_eigenvectors(const Graph& graph, std::int64_t vectors, Device device) {
  const auto n = static_cast<std::size_t>(graph.adj.rows()), k = static_cast<std::size_t>(vectors);
  const Tensor got = laplacian_encoding(graph, vectors, 0, device);
  ASSERT_EQ(got.shape(), (Shape{graph.adj.rows(), vectors}));
  EXPECT_TRUE(same_bits(got, laplacian_encoding(graph, vectors, 0, device)));
  const Doubles v = doubles(got), l = dense_laplacian(graph), values = jacobi_eigenpairs(l, n).values;
  std::size_t first = 0;
  while (first < n && values[first] < 1e-9) ++first;
  for (std::size_t j = 0; j < k; ++j) {
    SCOPED_TRACE(testing::Message() << "column " << j);
    double most = 0, leading = 0;
    for (std::size_t i = 0; i < n; ++i) most = std::max(most, std::abs(v[i * k + j]));
    if (first + j >= n) {
      EXPECT_EQ(most, 0);
      continue;
    }
    for (std::size_t i = 0; i < n && leading == 0; ++i)
      if (std::abs(v[i * k + j]) > 0.9901 * most) leading = v[i * k + j];
    EXPECT_GT(leading, 0);
    for (std::size_t i = 0; i < n; ++i) {
      double lv = 0;
      for (std::size_t m = 0; m < n; ++m) lv += l[i * n + m] * v[m * k + j];
      EXPECT_NEAR(lv, values[first + j] * v[i * k + j], 1e-6);
    }
    for (std::size_t other = 0; other <= j; ++other) {
      double dot = 0;
      for (std::size_t i = 0; i < n; ++i) dot += v[i * k + j] * v[i * k + other];
      EXPECT_NEAR(dot, other == j, 1e-6);
    }
  }
}

struct Case {
  const char* name;
  Graph graph;
};

std::vector<Case> cases() {
  return {{"single node", graph_of(1, {}, {})},
          {"single node with a self loop", graph_of(1, {0}, {0})},
          {"no edges", graph_of(3, {}, {})},
          {"pair", undirected(2, {0}, {1})},
          {"path", ring(60, false)},
          {"ring, of eigenvalues in pairs", ring(60)},
          {"weighted ring", ring(51, true, true)},
          {"self loops and repeated edges", graph_of(4, {0, 0, 1, 1, 0, 1, 2, 3}, {0, 1, 0, 0, 1, 2, 1, 3})},
          {"an edge of weight 0 connects nothing", graph_of(3, {0, 1, 1, 2}, {1, 0, 2, 1}, {1, 1, 0, 0})},
          {"isolated node, pair and triangle", undirected(6, {1, 3, 4, 5}, {2, 4, 5, 3})},
          {"random, with isolated nodes", to_graph(tiny_dataset(70), kCpu)}};
}

TEST_P(DatasetsPositionalEncoding, RandomWalkIsTheDiagonalOfThePowers) {
  std::vector<Case> all = cases();
  all.push_back({"directed ring", graph_of(3, {0, 1, 2}, {1, 2, 0})});
  all.push_back({"directed path, where walks end", graph_of(3, {0, 1}, {1, 2})});
  all.push_back(
      {"directed, weighted", graph_of(3, {0, 0, 1, 2, 2}, {1, 2, 0, 1, 2}, {1, 3, 2, 0.25f, 0.5f})});
  all.push_back({"more than one block", ring(150)});
  for (const Case& each : all) {
    SCOPED_TRACE(each.name);
    const Tensor got = random_walk_encoding(each.graph, 6, device());
    EXPECT_TRUE(near(got, walks(each.graph, 6), 1e-5, 1e-6));
    EXPECT_TRUE(same_bits(got, random_walk_encoding(each.graph, 6, device())));
  }
}

TEST_P(DatasetsPositionalEncoding, LaplacianOfSmallGraphs) {
  for (const Case& each : cases())
    for (const std::int64_t vectors : {1, 4, 70}) {
      SCOPED_TRACE(testing::Message() << each.name << ", " << vectors << " vectors");
      expect_eigenvectors(each.graph, vectors, device());
    }
}

TEST_P(DatasetsPositionalEncoding, LaplacianOfALongPath) {
  // Eigenvalues 1 - cos(pi j / (n - 1)): the first ones are 3e-6 apart.
  const std::int32_t n = 2000;
  const Graph path = ring(n, false);
  const Tensor got = laplacian_encoding(path, 3, 7, device());
  Doubles want;
  const double norm = std::sqrt((n - 1) / 2.0);
  for (std::int32_t i = 0; i < n; ++i)
    for (int j = 1; j <= 3; ++j)
      want.push_back((i == 0 || i == n - 1 ? std::sqrt(0.5) : 1) *
                     std::cos(std::acos(-1.0) * j * i / (n - 1)) / norm);
  EXPECT_TRUE(near(got, want, 0, 1e-5));
}

TEST(DatasetsJacobi, EigenpairsOfASymmetricMatrix) {
  const std::size_t n = 20;
  Doubles a = doubles(random_tensor({20, 20}, DType::kF64, kCpu));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j) a[i * n + j] = a[j * n + i];
  const Eigenpairs e = jacobi_eigenpairs(a, n);
  const Doubles av = product(a, e.vectors, n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double dot = 0;
      for (std::size_t k = 0; k < n; ++k) dot += e.vectors[k * n + i] * e.vectors[k * n + j];
      EXPECT_NEAR(dot, i == j, 1e-12);
      EXPECT_NEAR(av[i * n + j], e.values[j] * e.vectors[i * n + j], 1e-12);
      EXPECT_LE(e.values[std::min(i, j)], e.values[j]);
    }
}

TEST(DatasetsPositional, Errors) {
  EXPECT_ERROR(
      laplacian_encoding(graph_of(2, {0}, {1}), 1),
      "[laplacian_encoding] 1 of 1 edges have no reverse edge, and the Laplacian is of an undirected "
      "graph: add the reverse edges (--undirected)");
  EXPECT_ERROR(laplacian_encoding(graph_of(2, {0, 1}, {1, 0}, {1, 2}), 1),
               "[laplacian_encoding] an edge and its reverse must have one weight, got 2 and 1");
  EXPECT_ERROR(laplacian_encoding(graph_of(2, {0, 1}, {1, 0}, {-1, -1}), 1),
               "[laplacian_encoding] edge weights must not be negative, got -1");
  EXPECT_ERROR(laplacian_encoding(ring(3), 129), "[laplacian_encoding] vectors must be in [0, 128], got 129");
  EXPECT_ERROR(random_walk_encoding(ring(3), -1),
               "[random_walk_encoding] steps must not be negative, got -1");
  EXPECT_ERROR(random_walk_encoding(graph_of(2, {0}, {1}, {-1}), 1),
               "[random_walk_encoding] edge weights must not be negative, got -1");
  const Graph large = graph_of(1 << 24, {0}, {1});
  EXPECT_ERROR(
      laplacian_encoding(large, 128),
      "[laplacian_encoding] 128 vectors of 16777216 nodes take 264.00 GiB of memory, more than 64.00 GiB: "
      "give fewer vectors, or a subset of the nodes");
  EXPECT_ERROR(
      random_walk_encoding(large, 1024),
      "[random_walk_encoding] 1024 steps on 16777216 nodes take 88.00 GiB of memory, more than 64.00 GiB: "
      "give fewer steps, or a subset of the nodes");
  const Graph steps = ring(50000);
  EXPECT_ERROR(
      random_walk_encoding(steps, 30000),
      "[random_walk_encoding] 30000 steps on 50000 nodes with 100000 edges take 1.5e+14 products, more "
      "than the 1e+14 of a CPU: give fewer steps, a GPU, a subset of the nodes, or a Laplacian encoding");
}

TEST(DatasetsPositional, GraphsOfASetAreEncodedAlone) {
  const Dataset set = synthesize_graphs({.graphs = 4});
  const std::vector<Graph> graphs = graphs_of(to_graph(set, kCpu), set.graph_ptr);
  ASSERT_EQ(graphs.size(), 4u);
  std::int64_t nodes = 0, edges = 0;
  for (const Graph& each : graphs) {
    nodes += each.adj.rows(), edges += each.adj.num_edges();
    expect_eigenvectors(each, 5, kCpu);
  }
  EXPECT_EQ(nodes, set.num_nodes);
  EXPECT_EQ(edges, set.num_edges());
  EXPECT_EQ(graphs_of(graphs[0], {}).size(), 1u);
}

TEST(DatasetsPositional, ColumnsAreAppendedToTheFile) {
  const TempDir dir;
  const Tensor columns = random_tensor({300, 2}, DType::kF32, kCpu, 5);
  for (const char* kind : {"dense", "sparse", "none"}) {
    SCOPED_TRACE(kind);
    Dataset data = tiny_dataset();
    data.edge_weight = random_tensor({data.num_edges()}, DType::kF32, kCpu);
    if (kind != std::string("dense")) data.x = {};
    if (kind == std::string("sparse")) {
      std::vector<std::int64_t> indptr(301);
      for (std::int64_t i = 0; i <= 300; ++i) indptr[i] = i / 2;
      data.x_sparse = {Tensor::from(indptr), Tensor::from(Nodes(150, 7)),
                       random_tensor({150}, DType::kF32, kCpu)};
    } else if (kind == std::string("none")) {
      data.num_features = 0;
    }
    save_dataset(data, dir / "in.h5");
    append_features(dir / "in.h5", dir / "out.h5", load_dataset(dir / "in.h5"), columns);
    const Dataset got = load_dataset(dir / "out.h5", {.need = Need::kTraining});
    EXPECT_EQ(got.num_features, data.num_features + 2);
    EXPECT_EQ(got.x_sparse.defined(), data.x_sparse.defined());
    EXPECT_TRUE(same_bits(got.edge_weight, data.edge_weight));
    EXPECT_TRUE(same_bits(got.y, data.y));
    const Doubles all = doubles(dense_features(got)), added = doubles(columns),
                  old = data.num_features ? doubles(dense_features(data)) : Doubles();
    const auto f = static_cast<std::size_t>(data.num_features);
    for (std::size_t i = 0; i < 300; ++i)
      for (std::size_t j = 0; j < f + 2; ++j)
        ASSERT_EQ(all[i * (f + 2) + j], j < f ? old[i * f + j] : added[i * 2 + j - f]);
  }
}

}  // namespace
}  // namespace rodeo::test
