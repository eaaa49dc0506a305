/// Attention in float64, edge by edge: what dot_attention and gatv2_attention are compared with.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/adjacency.h"
#include "ops/attention_types.h"
#include "ops/edge_dropout.h"
#include "tests/support/near.h"

namespace rodeo::test {

/// Values, and the magnitudes of their terms, which rounding errors are relative to.
struct ReferenceSum {
  std::vector<double> value, scale;
  explicit ReferenceSum(std::int64_t n)
      : value(static_cast<std::size_t>(n)), scale(static_cast<std::size_t>(n)) {}
  void add(std::int64_t at, double term, double size) {
    value[static_cast<std::size_t>(at)] += term;
    scale[static_cast<std::size_t>(at)] += std::abs(size);
  }
  void add(std::int64_t at, double term) { add(at, term, term); }
};

/// One edge of a head: its weight after dropout, and the gradient of its score with its magnitude.
struct ReferenceEdge {
  std::int64_t e, i, j, h;
  double weight, ds, size;
};

/// use(edge) for every edge and head, where score(e, i, j, h) is its score and dot(e, i, j, h, magnitude) the
/// product <dy_i, v_j>.
template <class Score, class Dot, class Use>
void for_each_attending_edge(const Adjacency& adj, std::int64_t heads, const AttentionOptions& options,
                             const Score& score, const Dot& dot, const Use& use) {
  const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
  const auto col = adj.csr().col.to_vector<std::int32_t>();
  std::vector<double> p;
  std::vector<ReferenceEdge> edges;
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t i = 0; i < adj.rows(); ++i) {
      double top = -std::numeric_limits<double>::infinity(), sum = 0, all = 0, all_size = 0;
      p.clear(), edges.clear();
      for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e) {
        p.push_back(score(e, i, col[e], h));
        top = std::max(top, p.back());
      }
      for (double& s : p) sum += s = std::exp(s - top);
      for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e) {
        double& weight = p[static_cast<std::size_t>(e - row_ptr[i])];
        weight /= sum;
        const std::int64_t head = options.first_head + h;
        const Philox4 words =
            edge_words(options.key, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(col[e]),
                       static_cast<std::uint32_t>(head / 4));
        const bool kept =
            options.dropout == 0 || to_unit(words.word[head % 4]) >= static_cast<float>(options.dropout);
        double size = 0;
        const double w = kept ? weight / (1 - options.dropout) : 0, of_edge = dot(e, i, col[e], h, &size);
        edges.push_back({e, i, col[e], h, w, w * of_edge, w * size});
        all += w * of_edge, all_size += w * size;
      }
      for (std::size_t at = 0; at < edges.size(); ++at) {
        edges[at].ds -= p[at] * all, edges[at].size += p[at] * all_size;
        use(edges[at]);
      }
    }
}

/// Compares results with references of the same order. Undefined results are skipped.
inline void expect_near(const std::vector<Tensor>& got, const std::vector<ReferenceSum>& want,
                        const std::vector<const char*>& names, double tolerance, const std::string& what) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!got[i].defined()) continue;
    const double smallest = got[i].dtype() == DType::kF16 ? 0x1p-24 : 1e-30;
    EXPECT_TRUE(near(got[i], want[i].value, tolerance, smallest, want[i].scale)) << what << " " << names[i];
  }
}

}  // namespace rodeo::test
