#include "ops/edge_dropout.h"

#include "core/storage.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsEdgeDropout : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsEdgeDropout);

constexpr RandomKey kKey{7, 3};

TEST_P(OpsEdgeDropout, IsAFunctionOfTheEndPointsAndTheHead) {
  for (const SparseCase& sparse_case : sparse_cases()) {
    const Adjacency host = sparse_case.make();
    const Csr& a = host.csr();
    const auto row_ptr = a.row_ptr.to_vector<std::int64_t>();
    const auto col = a.col.to_vector<std::int32_t>();
    for (const std::int64_t heads : {1, 3, 4, 9})
      for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16}) {
        const Tensor x = Tensor::full({host.num_edges(), heads}, 1, dtype);
        set_poison_memory(true);
        const Tensor y = edge_dropout(host.to(device()), x.to(device()), 0.5, kKey);
        set_poison_memory(false);
        const std::vector<double> got = doubles(y);
        for (std::int64_t i = 0; i < host.rows(); ++i)
          for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e)
            for (std::int64_t h = 0; h < heads; ++h) {
              const Philox4 words =
                  edge_words(kKey, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(col[e]),
                             static_cast<std::uint32_t>(h / 4));
              const double want = to_unit(words.word[h % 4]) >= 0.5f ? 2 : 0;
              ASSERT_EQ(got[e * heads + h], want) << sparse_case.name << " " << dtype << " edge " << e;
            }
      }
  }
}

TEST_P(OpsEdgeDropout, KeepsTheShareAskedFor) {
  const Adjacency adj = graph_with_lengths(std::vector<std::int64_t>(1000, 40), 1000).to(device());
  for (const double p : {0.1, 0.6, 0.9}) {
    const Tensor x = Tensor::full({adj.num_edges(), 6}, 1, DType::kF32, device());
    double kept = 0, sum = 0;
    for (const double y : doubles(edge_dropout(adj, x, p, kKey))) kept += y != 0, sum += y;
    const auto n = static_cast<double>(x.numel());
    EXPECT_NEAR(kept / n, 1 - p, 5 * std::sqrt(p * (1 - p) / n));
    EXPECT_NEAR(sum / n, 1, 0.05);
  }
}

TEST_P(OpsEdgeDropout, HeadsAndStreamsDiffer) {
  const Adjacency adj = graph_with_lengths(std::vector<std::int64_t>(100, 20), 100).to(device());
  const Tensor x = Tensor::full({adj.num_edges(), 8}, 1, DType::kF32, device());
  const std::vector<double> y = doubles(edge_dropout(adj, x, 0.5, kKey));
  const std::vector<double> other = doubles(edge_dropout(adj, x, 0.5, {7, 4}));
  const auto edges = static_cast<std::size_t>(adj.num_edges());
  for (std::size_t h = 0; h < 8; ++h) {
    std::size_t of_next = 0, of_other = 0;
    for (std::size_t e = 0; e < edges; ++e) {
      of_next += y[e * 8 + h] == y[e * 8 + (h + 1) % 8];
      of_other += y[e * 8 + h] == other[e * 8 + h];
    }
    for (const std::size_t equal : {of_next, of_other})
      EXPECT_NEAR(static_cast<double>(equal) / static_cast<double>(edges), 0.5, 0.08) << h;
  }
}

TEST_P(OpsEdgeDropout, HeadsOfMoreDrawTheirMask) {
  const Adjacency adj = graph_with_lengths({3, 0, 40, 2, 700}, 20).to(device());
  constexpr std::int64_t kHeads = 11;
  const Tensor ones = Tensor::full({adj.num_edges(), kHeads}, 1, DType::kF32, device());
  const std::vector<double> all = doubles(edge_dropout(adj, ones, 0.5, kKey));
  for (std::int64_t begin = 0; begin < kHeads; ++begin)
    for (std::int64_t end = begin + 1; end <= kHeads; ++end) {
      const std::int64_t heads = end - begin;
      const Tensor some = Tensor::full({adj.num_edges(), heads}, 1, DType::kF32, device());
      const std::vector<double> got = doubles(edge_dropout(adj, some, 0.5, kKey, begin));
      for (std::int64_t i = 0; i < some.numel(); ++i)
        ASSERT_EQ(got[i], all[i / heads * kHeads + begin + i % heads]) << begin << " to " << end << ", " << i;
    }
}

TEST_P(OpsEdgeDropout, Gradients) {
  const Adjacency adj = graph_with_lengths({3, 0, 40, 2}, 20).to(device());
  EXPECT_TRUE(gradients_ok([&](const auto& in) { return edge_dropout(adj, in[0], 0.4, kKey); },
                           {random_variable({adj.num_edges(), 3}, device())}));
}

TEST_P(OpsEdgeDropout, Errors) {
  const Adjacency adj = graph_with_lengths({3, 0, 40, 2}, 20).to(device());
  const std::int64_t edges = adj.num_edges();
  const Tensor x = Tensor::zeros({edges, 2}, DType::kF32, device());
  EXPECT_ERROR(edge_dropout(adj, x, 1, kKey), "[edge_dropout] p must be in [0, 1), got 1");
  EXPECT_ERROR(edge_dropout(adj, Tensor::zeros({edges + 1, 2}, DType::kF32, device()), 0.5, kKey),
               str("[edge_dropout] x must be [", edges, ", 2], got [", edges + 1, ", 2]"));
  EXPECT_ERROR(edge_dropout(adj, Tensor::zeros({edges, 2}, DType::kI64, device()), 0.5, kKey),
               "[edge_dropout] x must be floating point, got i64");
  EXPECT_ERROR(edge_dropout(adj, x, 0.5, kKey, -1), "[edge_dropout] first_head must not be negative, got -1");
}

}  // namespace
}  // namespace rodeo::test
