/// The smallest non-zero eigenpairs of a Laplacian L by subspace iteration (Zhou et al.,
/// "Self-consistent-field calculations using Chebyshev-filtered subspace iteration", J. Comput. Phys. 2006).
/// A polynomial of L that is large on [0, cut) and small on [cut, 2] multiplies the block; the Rayleigh-Ritz
/// step follows.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/memory_stats.h"
#include "datasets/jacobi.h"
#include "datasets/positional_encoding.h"
#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/pointwise.h"
#include "ops/spmm.h"

namespace rodeo {
namespace {

using Doubles = std::vector<double>;

/// L = diagonal + off, and its eigenvectors of the eigenvalue 0: one for each component of the graph.
struct Laplacian {
  Adjacency adj;                           // with the diagonal
  Tensor off, diagonal;                    // f64 [entries of adj]
  Adjacency member, component;             // [components, n], and its transpose
  Tensor member_weight, component_weight;  // f64 [n], orthonormal rows of `member`

  std::int64_t nontrivial() const { return adj.rows() - member.rows(); }
  Tensor weights(double of_off, double of_diagonal) const {
    return linear_combination(of_off, off, of_diagonal, diagonal);
  }
};

/// The CPU's choice of an algorithm is a rule, CUDA's is measured: its bits could differ from run to run.
SpmmOptions fixed(const Adjacency& adj) {
  return {adj.device().is_cuda() ? SpmmAlgorithm::kRode : SpmmAlgorithm::kAuto};
}

void check_symmetric(const Graph& graph) {
  const std::int64_t one_way = count_one_way_edges(graph.adj);
  check(one_way == 0, "[laplacian_encoding] ", one_way, " of ", graph.adj.num_edges(),
        " edges have no reverse edge, and the Laplacian is of an undirected graph: add the reverse edges "
        "(--undirected)");
  if (!graph.weight.defined()) return;
  const Tensor reverse = take(graph.weight, transpose(graph.adj).edge_ids);
  for (std::int64_t e = 0; e < reverse.numel(); ++e) {
    const float weight = graph.weight.data<float>()[e], back = reverse.data<float>()[e];
    check(weight >= 0, "[laplacian_encoding] edge weights must not be negative, got ", weight);
    check(weight == back, "[laplacian_encoding] an edge and its reverse must have one weight, got ", weight,
          " and ", back);
  }
}

/// [n] the smallest node of the component of each node; `connects` says which edges count.
template <class Connects>
std::vector<std::int32_t> components(const Csr& csr, const Connects& connects) {
  std::vector<std::int32_t> root(static_cast<std::size_t>(csr.row_ptr.numel() - 1));
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](std::int32_t i) {
    while (root[i] != i) i = root[i] = root[root[i]];
    return i;
  };
  const auto* ptr = csr.row_ptr.data<std::int64_t>();
  for (std::int32_t i = 0; i < std::ssize(root); ++i)
    for (std::int64_t e = ptr[i]; e < ptr[i + 1]; ++e)
      if (connects(e)) {
        const auto [low, high] = std::minmax({find(i), find(csr.col.data<std::int32_t>()[e])});
        root[high] = low;
      }
  for (std::int32_t i = 0; i < std::ssize(root); ++i) root[i] = find(i);
  return root;
}

Laplacian laplacian_of(const Graph& graph, Device device) {
  check_symmetric(graph);
  const Csr& csr = graph.adj.csr();
  const std::int64_t nodes = graph.adj.rows();
  const auto n = static_cast<std::size_t>(nodes);
  const auto* ptr = csr.row_ptr.data<std::int64_t>();
  const auto* col = csr.col.data<std::int32_t>();
  const auto weight = [&](std::int64_t e) {
    return graph.weight.defined() ? static_cast<double>(graph.weight.data<float>()[e]) : 1.0;
  };
  Doubles degree(n), off, diagonal;
  std::vector<std::int64_t> row_ptr{0};
  std::vector<std::int32_t> columns;
  for (std::size_t i = 0; i < n; ++i)
    for (std::int64_t e = ptr[i]; e < ptr[i + 1]; ++e)
      if (col[e] != static_cast<std::int32_t>(i)) degree[i] += weight(e);
  const auto put = [&](std::size_t j, double off_value, double diagonal_value) {
    columns.push_back(static_cast<std::int32_t>(j));
    off.push_back(off_value);
    diagonal.push_back(diagonal_value);
  };
  for (std::size_t i = 0; i < n; ++i) {
    put(i, 0, 1);
    for (std::int64_t e = ptr[i]; e < ptr[i + 1]; ++e)
      if (const auto j = static_cast<std::size_t>(col[e]); j != i && weight(e) > 0)
        put(j, -weight(e) / std::sqrt(degree[i] * degree[j]), 0);
    row_ptr.push_back(std::ssize(columns));
  }

  std::vector<std::int32_t> part = components(csr, [&](std::int64_t e) { return weight(e) > 0; });
  std::vector<std::int32_t> number(n);
  Doubles volume;
  for (std::size_t i = 0; i < n; ++i) {
    if (degree[i] == 0) degree[i] = 1;  // an isolated node is a component of its own
    if (part[i] == static_cast<std::int32_t>(i)) {
      number[i] = static_cast<std::int32_t>(volume.size());
      volume.push_back(0);
    }
    part[i] = number[part[i]];
    volume[part[i]] += degree[i];
  }
  for (std::size_t i = 0; i < n; ++i) degree[i] = std::sqrt(degree[i] / volume[part[i]]);
  std::vector<std::int64_t> one_each(n + 1);
  std::iota(one_each.begin(), one_each.end(), 0);
  const Adjacency component =
      Adjacency::trusted({nodes, std::ssize(volume), Tensor::from(one_each), Tensor::from(part)});
  const Transposed member = transpose(component);
  const Tensor share = Tensor::from(degree);
  return {Adjacency::trusted({nodes, nodes, Tensor::from(row_ptr, device), Tensor::from(columns, device)}),
          Tensor::from(off, device),
          Tensor::from(diagonal, device),
          member.adj.to(device),
          component.to(device),
          take(share, member.edge_ids).to(device),
          share.to(device)};
}

/// An orthonormal basis of the columns of x, orthogonal to the trivial eigenvectors: x times
/// D^-1/2 V E^-1/2 of the scaled Gram matrix V E V^T, until that is the identity (Stathopoulos and Wu,
/// SIAM J. Sci. Comput. 2002).
Tensor orthonormal(const Laplacian& l, Tensor x) {
  constexpr int kMostPasses = 6;
  const auto b = static_cast<std::size_t>(x.dim(1));
  for (int pass = 0; pass < kMostPasses; ++pass) {
    const Tensor trivial = spmm(l.component, l.component_weight,
                                spmm(l.member, l.member_weight, x, fixed(l.member)), fixed(l.component));
    x = linear_combination(1, x, -1, trivial);
    Doubles gram = matmul(x, x, Transpose::kYes).to(kCpu).to_vector<double>(), scale(b);
    double off = 0;
    for (std::size_t i = 0; i < b; ++i) scale[i] = 1 / std::sqrt(std::max(gram[i * b + i], 1e-300));
    for (std::size_t i = 0; i < b; ++i)
      for (std::size_t j = 0; j < b; ++j) {
        off = std::max(off, std::abs(gram[i * b + j] - (i == j)));
        gram[i * b + j] *= scale[i] * scale[j];
      }
    if (pass > 0 && off < 1e-12) break;
    Eigenpairs e = jacobi_eigenpairs(gram, b);
    for (std::size_t i = 0; i < b; ++i)
      for (std::size_t j = 0; j < b; ++j)
        e.vectors[i * b + j] *= scale[i] / std::sqrt(std::max(e.values[j], 1e-15));
    x = matmul(x, Tensor::from(e.vectors, {x.dim(1), x.dim(1)}, x.device()));
  }
  return x;
}

/// U_degree(y) x, the Chebyshev polynomial of the second kind, where y maps [cut, 2] to [-1, 1]:
/// U_0 = 1, U_1 = 2 y, U_k+1 = 2 y U_k - U_k-1.
Tensor filter(const Laplacian& l, const Tensor& x, double cut, std::int64_t degree) {
  const double slope = 4 / (2 - cut);
  const Tensor twice_y = l.weights(slope, slope * (1 - (2 + cut) / 2));
  Tensor before = x, now = spmm(l.adj, twice_y, x, fixed(l.adj));
  for (std::int64_t k = 1; k < degree; ++k) {
    const Tensor next = linear_combination(1, spmm(l.adj, twice_y, now, fixed(l.adj)), -1, before);
    before = now;
    now = next;
  }
  return now;
}

/// theta of cosh(theta) = |y| for an eigenvalue below the cut: the filter of degree m has about e^(m theta).
double growth(double value, double cut) {
  return std::acosh(1 + 2 * std::max(cut - value, 0.0) / (2 - cut));
}

Doubles column_norms(const Tensor& x) {
  Doubles norms = sum_rows(mul(x, x)).to(kCpu).to_vector<double>();
  for (double& norm : norms) norm = std::sqrt(norm);
  return norms;
}

/// f64 [n, block] the Ritz vectors of a block of which the first `wanted` converged.
Tensor smallest_eigenvectors(const Laplacian& l, std::int64_t wanted, std::uint64_t seed) {
  const std::int64_t block = std::min(l.nontrivial(), 2 * wanted + 8);
  const auto b = static_cast<std::size_t>(block);
  Tensor x = uniform({l.adj.rows(), block}, -1, 1, Random(seed).next(), DType::kF64, l.adj.device());
  for (std::int64_t products = 0, most_terms = 10;; most_terms *= 2) {
    x = orthonormal(l, x);
    const Tensor lx = spmm(l.adj, l.weights(1, 1), x, fixed(l.adj));
    const Eigenpairs e = jacobi_eigenpairs(matmul(x, lx, Transpose::kYes).to(kCpu).to_vector<double>(), b);
    Doubles scaled(b * b);
    for (std::size_t i = 0; i < b * b; ++i) scaled[i] = e.vectors[i] * e.values[i % b];
    const Tensor vectors = Tensor::from(e.vectors, {block, block}, x.device());
    const Doubles residual = column_norms(linear_combination(
        1, matmul(lx, vectors), -1, matmul(x, Tensor::from(scaled, {block, block}, x.device()))));
    x = matmul(x, vectors);
    const double tolerance = std::max(1e-8 * e.values.back(), 1e-12);
    const auto converged = std::find_if(residual.begin(), residual.begin() + wanted,
                                        [&](double r) { return !(r <= tolerance); });
    if (block == l.nontrivial() || converged == residual.begin() + wanted) return x;
    constexpr std::int64_t kMostProducts = 50000;
    check(products < kMostProducts, "[laplacian_encoding] ", converged - residual.begin(), " of ", wanted,
          " eigenvectors converged in ", products,
          " products: eigenvalues are too near each other; give fewer vectors, or a random-walk encoding");
    const double cut = std::clamp(e.values.back(), 1e-12, 1.5),
                 last = growth(e.values[static_cast<std::size_t>(wanted) - 1], cut),
                 first = growth(e.values.front(), cut);
    // Enough for the last wanted vector, but not so much that the first one is all that is left of the block;
    // a long polynomial where a short one would do adds rounding errors.
    const double degree = std::min(8 / std::max(last, 1e-9), 20 / std::max(first, 1e-9));
    const std::int64_t terms = std::clamp<std::int64_t>(static_cast<std::int64_t>(degree), 10, most_terms);
    x = filter(l, x, cut, terms);
    products += terms;
  }
}

}  // namespace

Tensor laplacian_encoding(const Graph& graph, std::int64_t vectors, std::uint64_t seed, Device device) {
  constexpr std::int64_t kArrays = 8;  // f64 [nodes, block]: x, L x, what products of them return
  check(vectors >= 0 && vectors <= kMostLaplacianVectors, "[laplacian_encoding] vectors must be in [0, ",
        kMostLaplacianVectors, "], got ", vectors);
  const std::int64_t n = graph.adj.rows();
  if (vectors == 0 || n == 0) return Tensor::zeros({n, vectors});
  const double bytes = kArrays * 8.0 * static_cast<double>(n) * static_cast<double>(2 * vectors + 8);
  check(bytes <= kMostEncodingBytes, "[laplacian_encoding] ", vectors, " vectors of ", n, " nodes take ",
        format_bytes(bytes), " of memory, more than ", format_bytes(kMostEncodingBytes),
        ": give fewer vectors, or a subset of the nodes");
  const Tensor out = Tensor::zeros({n, vectors});
  const Laplacian l = laplacian_of(graph, device);
  const std::int64_t wanted = std::min(vectors, l.nontrivial());
  if (wanted == 0) return out;
  const Tensor found = smallest_eigenvectors(l, wanted, seed).to(kCpu);
  const auto* x = found.data<double>();
  const std::int64_t block = found.dim(1);
  for (std::int64_t j = 0; j < wanted; ++j) {
    double most = 0, sign = 0;
    for (std::int64_t i = 0; i < n; ++i) most = std::max(most, std::abs(x[i * block + j]));
    for (std::int64_t i = 0; i < n && sign == 0; ++i)
      if (std::abs(x[i * block + j]) >= 0.99 * most) sign = x[i * block + j] < 0 ? -1 : 1;
    for (std::int64_t i = 0; i < n; ++i)
      out.data<float>()[i * vectors + j] = static_cast<float>(sign * x[i * block + j]);
  }
  return out;
}

}  // namespace rodeo
