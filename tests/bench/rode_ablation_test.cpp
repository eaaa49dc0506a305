#include "bench/rode_ablation.h"

#include "core/random.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class BenchRodeAblation : public OnDevice {};
RODEO_ON_ALL_DEVICES(BenchRodeAblation);

// Sums of small integers are exact in any order.
TEST_P(BenchRodeAblation, EveryFormIsExact) {
  std::vector<SparseCase> cases = sparse_cases();
  cases.push_back({"many rows", [] {
                     std::vector<std::int64_t> lengths;
                     for (std::int64_t i = 0; i < 20'000; ++i) lengths.push_back(i % 71);
                     lengths[5] = 3000, lengths[77] = 1055;
                     return graph_with_lengths(lengths, 5000);
                   }});
  for (const SparseCase& sparse_case : cases) {
    const Adjacency host = sparse_case.make(), adj = host.to(device());
    std::vector<float> weights(static_cast<std::size_t>(host.num_edges()));
    for (std::size_t e = 0; e < weights.size(); ++e)
      weights[e] = static_cast<float>(random_word(2, 0, e) % 2);
    for (const std::int64_t n : {1, 7, 32, 44, 64}) {
      if (n % 32 != 0 && !device().is_cuda()) continue;  // forms of any width are CUDA kernels
      std::vector<float> values(static_cast<std::size_t>(host.cols() * n));
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(random_word(1, 0, i) % 5) - 2;
      const Tensor x = Tensor::from(values, {host.cols(), n});
      for (const Tensor& weight : {Tensor(), Tensor::from(weights)}) {
        const Sums want = spmm_reference(host, weight, x);
        for (const bench::RodeForm& form : bench::rode_forms(device())) {
          if (n % 32 != 0 && !form.any_width) continue;
          for (const RodeOptions options : {RodeOptions{}, {512, 32}, {24, 8}, {128, 64}}) {
            const RodePlan plan = form.plan(adj, options);
            const Poisoned poisoned;
            const Tensor y =
                form.run(adj, plan, weight.defined() ? weight.to(device()) : weight, x.to(device()));
            ASSERT_TRUE(near(y, want.y, 0))
                << form.name << ", " << options << ", " << sparse_case.name << " n=" << n;
          }
        }
      }
    }
  }
}

// Row lengths 24, 32, 104 are the text's example: pieces begin at 24, 56 and, cut after 32, 88; residues at 0
// and 152.
TEST_P(BenchRodeAblation, TheExampleOfTheText) {
  const Adjacency adj = graph_with_lengths({24, 32, 104}, 110).to(device());
  const RodePlan whole = bench::published_rode_plan(adj, {512, 32}),
                 cut = bench::published_rode_plan(adj, {32, 32});
  EXPECT_EQ(whole.piece_row.to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(whole.piece_begin.to_vector<std::int64_t>(), (std::vector<std::int64_t>{24, 56}));
  EXPECT_EQ(cut.piece_row.to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 2, 2, 2}));
  EXPECT_EQ(cut.piece_begin.to_vector<std::int64_t>(), (std::vector<std::int64_t>{24, 56, 88, 120}));
  for (const RodePlan& plan : {whole, cut}) {
    EXPECT_EQ(plan.residual_row.to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 2}));
    EXPECT_EQ(plan.residual_begin.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 152}));
    EXPECT_EQ(plan.residual_length.to_vector<std::int32_t>(), (std::vector<std::int32_t>{24, 8}));
  }
}

// The text's floor(length / N_S) + (length > N_B) pieces, against those that cover the block part.
TEST(BenchRodeText, ItsCountOfPiecesIsWrongInThreeCases) {
  const RodeOptions options{512, 32};
  for (std::int64_t length = 0; length < 2100; ++length) {
    const std::int64_t block_part = length - length % 32, right = (block_part + 511) / 512,
                       printed = bench::printed_piece_count(length, options);
    const std::int64_t rest = length % 512;
    const bool none_for_32 = length == 32, empty_piece = length >= 512 && rest < 32;
    ASSERT_EQ(printed - right, none_for_32 ? -1 : empty_piece ? 1 : 0) << length;
  }
  EXPECT_EQ(bench::printed_piece_count(32, options), 0);   // 32 nonzeros, no piece
  EXPECT_EQ(bench::printed_piece_count(512, options), 2);  // N_S divides the length: the second is empty
  EXPECT_EQ(bench::printed_piece_count(530, options), 2);  // the rest of 18 is residue: the second is empty
}

TEST_P(BenchRodeAblation, ThePublishedPlanCoversEveryNonzeroOnce) {
  const Adjacency adj = graph_with_lengths({104, 0, 23, 32, 1100, 544, 512}, 90).to(device());
  const RodePlan plan = bench::published_rode_plan(adj, {512, 32});
  EXPECT_EQ(plan.piece_row.to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 3, 4, 4, 4, 5, 5, 6}));
  EXPECT_EQ(plan.piece_length.to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{96, 32, 512, 512, 64, 512, 32, 512}));
  EXPECT_EQ(plan.piece_begin.to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{0, 127, 159, 671, 1183, 1259, 1771, 1803}));
  EXPECT_EQ(plan.residual_row.to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 2, 4}));
  EXPECT_EQ(plan.residual_length.to_vector<std::int32_t>(), (std::vector<std::int32_t>{8, 23, 12}));
  EXPECT_EQ(plan.residual_begin.to_vector<std::int64_t>(), (std::vector<std::int64_t>{96, 104, 1247}));
}

TEST_P(BenchRodeAblation, RefusesOtherOperands) {
  const Adjacency adj = graph_with_lengths({3, 40}, 50).to(device());
  const bench::RodeForm& full = bench::rode_forms(device()).front();
  EXPECT_ERROR(full.run(adj, full.plan(adj, {}), {}, Tensor::zeros({50, 16}, DType::kF32, device())),
               "[rode_ablation] x must be f32 [50, n] with n a multiple of 32, got f32 [50, 16]");
}

}  // namespace
}  // namespace rodeo::test
