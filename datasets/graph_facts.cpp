#include "datasets/graph_facts.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ops/features.h"

namespace rodeo {
namespace {

void add_degrees(const Adjacency& adj, GraphFacts& facts) {
  const auto* ptr = adj.csr().row_ptr.data<std::int64_t>();
  const auto* col = adj.csr().col.data<std::int32_t>();
  const std::int64_t n = adj.rows();
  std::vector<std::int64_t> degree(static_cast<std::size_t>(n));
  std::vector<std::uint8_t> touched(static_cast<std::size_t>(n));
  facts.histogram.assign(65, 0);
  for (std::int64_t i = 0; i < n; ++i) {
    degree[i] = ptr[i + 1] - ptr[i];
    ++facts.histogram[std::bit_width(static_cast<std::uint64_t>(degree[i]))];
    facts.max_degree = std::max(facts.max_degree, degree[i]);
    touched[i] |= degree[i] > 0;
    for (std::int64_t e = ptr[i]; e < ptr[i + 1]; ++e) {
      touched[col[e]] = 1;
      facts.self_loops += col[e] == i;
      facts.duplicates += e > ptr[i] && col[e] == col[e - 1];  // rows are sorted
    }
  }
  while (!facts.histogram.empty() && facts.histogram.back() == 0) facts.histogram.pop_back();
  facts.isolated = std::count(touched.begin(), touched.end(), 0);
  if (n == 0) return;
  facts.mean_degree = static_cast<double>(adj.num_edges()) / static_cast<double>(n);
  std::nth_element(degree.begin(), degree.begin() + n / 2, degree.end());
  facts.median_degree = degree[n / 2];
}

void add_labels(const Dataset& dataset, const Adjacency& adj, GraphFacts& facts) {
  const Tensor& labels = dataset.labels();
  if (dataset.regression()) {
    const auto* y = labels.data<float>();
    facts.missing = std::count_if(y, y + labels.numel(), [](float value) { return std::isnan(value); });
    return;
  }
  facts.class_sizes.assign(static_cast<std::size_t>(dataset.num_classes), 0);
  if (dataset.multi_label()) {
    const auto* y = labels.data<std::uint8_t>();
    for (std::int64_t i = 0; i < labels.numel(); ++i) {
      facts.class_sizes[i % dataset.num_classes] += y[i] == 1;
      facts.missing += y[i] == Dataset::kMissingLabel;
    }
    return;
  }
  const auto* y = labels.data<std::int64_t>();
  for (std::int64_t i = 0; i < labels.numel(); ++i) {
    if (y[i] < 0)
      ++facts.unlabelled;
    else
      ++facts.class_sizes[y[i]];
  }
  if (!dataset.y.defined()) return;  // labels of graphs
  const auto* ptr = adj.csr().row_ptr.data<std::int64_t>();
  const auto* col = adj.csr().col.data<std::int32_t>();
  std::int64_t labelled = 0, alike = 0;
#pragma omp parallel for reduction(+ : labelled, alike) schedule(dynamic, 1024)
  for (std::int64_t i = 0; i < adj.rows(); ++i)
    for (std::int64_t e = ptr[i]; e < ptr[i + 1]; ++e) {
      labelled += y[i] >= 0 && y[col[e]] >= 0;
      alike += y[i] >= 0 && y[i] == y[col[e]];
    }
  if (labelled > 0) facts.homophily = static_cast<double>(alike) / static_cast<double>(labelled);
}

// CSR with self loops, and its transpose if the graph is not symmetric.
double graph_bytes(const Dataset& dataset, bool symmetric) {
  const auto n = static_cast<double>(dataset.num_nodes), e = static_cast<double>(dataset.num_edges());
  return (symmetric ? 1 : 2) * (8 * (n + 1) + 4 * (e + n));
}

// Features, and features after dropout. Sparse ones have a pattern (SparsePattern), and values in the order
// of X and of X^T.
double feature_bytes(const Dataset& dataset, double density, double width) {
  const auto n = static_cast<double>(dataset.num_nodes), f = static_cast<double>(dataset.num_features);
  if (density >= (dataset.x_sparse.defined() ? kSparseBelowOnCpu : kSparseBelowOnCuda))
    return 2 * n * f * width;
  const double columns = 4 + 4, row = 4, place = 8;
  return density * n * f * (columns + row + place + 4 * width) + 8 * (n + f + 2);
}

std::int64_t training_bytes(const Dataset& dataset, const GraphFacts& facts, DType dtype,
                            double node_values) {
  const auto n = static_cast<double>(dataset.num_nodes), width = static_cast<double>(size_of(dtype));
  const double labels = 8 * n;
  return static_cast<std::int64_t>(graph_bytes(dataset, facts.symmetric) +
                                   feature_bytes(dataset, facts.density.value_or(1), width) +
                                   n * node_values * width + labels);
}

}  // namespace

GraphFacts graph_facts(const Dataset& dataset) {
  GraphFacts facts;
  facts.nodes = dataset.num_nodes;
  facts.edges = dataset.num_edges();
  const Graph graph = to_graph(dataset, kCpu);
  add_degrees(graph.adj, facts);
  if (dataset.labels().defined()) add_labels(dataset, graph.adj, facts);
  facts.symmetric = transpose_pattern(graph.adj) == graph.adj;
  const double places = static_cast<double>(dataset.num_nodes) * static_cast<double>(dataset.num_features);
  if (dataset.x_sparse.defined() && places > 0) {
    facts.density = static_cast<double>(dataset.x_sparse.num_entries()) / places;
  } else if (dataset.x.defined() && places > 0) {
    const auto* x = dataset.x.data<float>();
    std::int64_t filled = 0;
#pragma omp parallel for reduction(+ : filled)
    for (std::int64_t i = 0; i < dataset.x.numel(); ++i) filled += x[i] != 0;
    facts.density = static_cast<double>(filled) / places;
  }
  return facts;
}

// Values per node besides the features: of each layer the product, the aggregation, the activation and the
// dropout output, and the gradients that are alive at the same time. The coefficients were fitted to
// measurements on Cora and on an arxiv-sized graph.
std::int64_t gcn_training_bytes(const Dataset& dataset, const GraphFacts& facts, DType dtype) {
  constexpr double kHidden = 16;
  return training_bytes(dataset, facts, dtype, 8 * kHidden + 7 * static_cast<double>(dataset.num_classes));
}

std::int64_t gat_training_bytes(const Dataset& dataset, const GraphFacts& facts, DType dtype) {
  constexpr double kHidden = 64, kHeads = 8;
  return training_bytes(dataset, facts, dtype,
                        9 * kHidden + 6 * kHeads + 7 * static_cast<double>(dataset.num_classes));
}

}  // namespace rodeo
