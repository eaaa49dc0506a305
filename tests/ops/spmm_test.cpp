#include "ops/spmm.h"

#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/plan/rode_plan.h"
#include "ops/plan/row_clusters.h"
#include "ops/sparse/graph_plans.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsSpmm : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsSpmm);

std::vector<SpmmAlgorithm> algorithms(const Adjacency& adj) {
  std::vector<SpmmAlgorithm> all{SpmmAlgorithm::kAuto, SpmmAlgorithm::kCsr, SpmmAlgorithm::kRode};
  if (adj.device().is_cuda() && adj.num_edges() <= adj.rows() * adj.cols())
    all.push_back(SpmmAlgorithm::kCusparse);
  return all;
}

// ||got - want|| / ||want||
double relative_error(const Tensor& got, const std::vector<double>& want) {
  const std::vector<double> values = doubles(got);
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    difference += (values[i] - want[i]) * (values[i] - want[i]);
    norm += want[i] * want[i];
  }
  return norm == 0 ? std::sqrt(difference) : std::sqrt(difference / norm);
}

void check_case(const SparseCase& sparse_case, std::int64_t n, DType dtype, Device device) {
  const Adjacency host = sparse_case.make(), adj = host.to(device);
  if (is_for_a_gpu(device, host.num_edges(), n)) return;
  const Tensor x = random_tensor({host.cols(), n}, dtype, kCpu, 3);
  const Tensor weight = random_tensor({host.num_edges()}, dtype, kCpu, 4);
  const Poisoned poisoned;
  for (const bool weighted : {false, true}) {
    const Sums want = spmm_reference(host, weighted ? weight : Tensor(), x);
    for (const SpmmAlgorithm algorithm : algorithms(adj)) {
      const SpmmOptions options{algorithm};
      const auto run = [&] {
        return weighted ? spmm(adj, weight.to(device), x.to(device), options)
                        : spmm(adj, x.to(device), options);
      };
      const std::string what =
          str(sparse_case.name, " n=", n, " ", dtype, weighted ? " weighted " : " ", algorithm);
      const Tensor y = run();
      ASSERT_EQ(y.shape(), (Shape{host.rows(), n})) << what;
      // cuSPARSE adds up parts of a row in 16 bits.
      const double allowed = sum_tolerance(dtype) * (algorithm == SpmmAlgorithm::kCusparse ? 8 : 1);
      ASSERT_TRUE(near(y, want.y, allowed, 1e-7, want.scale)) << what;
      ASSERT_LE(relative_error(y, want.y), allowed) << what;
      if (algorithm != SpmmAlgorithm::kCusparse) {
        ASSERT_TRUE(same_bits(y, run())) << what;
      }
    }
  }
}

TEST_P(OpsSpmm, F32OnAllCasesAndWidths) {
  for (const SparseCase& sparse_case : sparse_cases())
    for (const std::int64_t n : widths()) check_case(sparse_case, n, DType::kF32, device());
}

TEST_P(OpsSpmm, OtherTypes) {
  for (const SparseCase& sparse_case : sparse_cases())
    for (const std::int64_t n : {1, 7, 16, 33, 64, 100})
      for (const DType dtype : {DType::kF64, DType::kBF16, DType::kF16})
        check_case(sparse_case, n, dtype, device());
}

// All operands in the shared memory of a block, up to some width; beyond, by pieces.
const SparseCase& tiny_case() {
  static const SparseCase tiny{"tiny", [] {
                                 std::vector<std::int64_t> lengths;
                                 for (std::int64_t i = 0; i < 45; ++i) lengths.push_back(i * 7 % 32);
                                 return graph_with_lengths(lengths, 37);
                               }};
  return tiny;
}

TEST_P(OpsSpmm, TinyGraphs) {
  for (const std::int64_t n : widths())
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16})
      check_case(tiny_case(), n, dtype, device());
}

TEST_P(OpsSpmm, Heads) {
  std::vector<SparseCase> cases = sparse_cases();
  cases.push_back(tiny_case());
  for (const SparseCase& sparse_case : cases) {
    const Adjacency host = sparse_case.make(), adj = host.to(device());
    for (const auto& [heads, n] : {std::pair{1, 5}, {2, 1}, {3, 7}, {8, 8}, {2, 100}, {5, 0}}) {
      if (is_for_a_gpu(device(), host.num_edges(), heads * n)) continue;
      for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
        const Tensor x = random_tensor({host.cols(), heads, n}, dtype, kCpu, 3);
        const Tensor weight = random_tensor({host.num_edges(), heads}, dtype, kCpu, 4);
        const Poisoned poisoned;
        const Sums want = spmm_reference(host, weight, x);
        for (const SpmmAlgorithm algorithm :
             {SpmmAlgorithm::kAuto, SpmmAlgorithm::kCsr, SpmmAlgorithm::kRode}) {
          const Tensor y = spmm(adj, weight.to(device()), x.to(device()), {algorithm});
          ASSERT_EQ(y.shape(), (Shape{host.rows(), heads, n}));
          ASSERT_TRUE(near(y, want.y, sum_tolerance(dtype), 1e-7, want.scale))
              << sparse_case.name << " heads=" << heads << " n=" << n << " " << dtype << " " << algorithm;
        }
      }
    }
  }
}

TEST_P(OpsSpmm, AtomicAccumulation) {
  const SpmmOptions atomic{SpmmAlgorithm::kRode, Accumulate::kAtomic};
  const Adjacency host = graph_with_lengths({3, 100000, 0, 40, 545, 2000}, 5000), adj = host.to(device());
  if (!device().is_cuda()) {
    EXPECT_ERROR(
        spmm(adj, Tensor::zeros({5000, 2}), atomic),
        "[spmm] atomic accumulation is for rode and auto on CUDA in f32 or f64, got rode on cpu in f32");
    return;
  }
  for (const std::int64_t n : {1, 7, 16, 41, 64})
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      const Tensor x = random_tensor({5000, n}, dtype, kCpu, 3);
      const Sums want = spmm_reference(host, {}, x);
      const Poisoned poisoned;
      EXPECT_TRUE(near(spmm(adj, x.to(device()), atomic), want.y, sum_tolerance(dtype), 1e-7, want.scale))
          << n;
    }
  // 391 pieces are not added in one order by chance: equal bits in 64 columns would be the ordered kernel's.
  const Tensor x = random_tensor({5000, 64}, DType::kF32, device(), 3);
  EXPECT_FALSE(same_bits(spmm(adj, x, atomic), spmm(adj, x, {SpmmAlgorithm::kRode})));
  EXPECT_ERROR(spmm(adj, Tensor::zeros({5000, 2}, DType::kBF16, device()), atomic),
               str("[spmm] atomic accumulation is for rode and auto on CUDA in f32 or f64, got rode on ",
                   device(), " in bf16"));
}

// The other cases are small enough for a GPU to take all of their rows at once, by other kernels.
TEST_P(OpsSpmm, MoreRowsThanAGpuTakesAtOnce) {
  const auto with_columns = [](std::int64_t cols) {
    return SparseCase{"many_rows", [=] {
                        std::vector<std::int64_t> lengths;
                        for (std::int64_t i = 0; i < 10000; ++i) lengths.push_back(i % 48);
                        lengths[5] = 3000, lengths[77] = 1055;
                        return graph_with_lengths(lengths, cols);
                      }};
  };
  const SparseCase many = with_columns(5000);
  check_case(many, 41, DType::kF32, device());
  if (!device().is_cuda()) return;
  for (const std::int64_t n : {2, 7, 13, 23, 31, 33, 47, 64, 80, 100})
    check_case(many, n, DType::kF32, device());
  for (const DType dtype : {DType::kF64, DType::kBF16, DType::kF16}) {
    for (const std::int64_t n : {5, 23, 41, 128}) check_case(many, n, dtype, device());
    for (const std::int64_t n : {33, 47}) check_case(with_columns(9000), n, dtype, device());
  }
  const Adjacency host = many.make(), adj = host.to(device());
  const Tensor x = random_tensor({host.cols(), 3, 7}, DType::kF32, kCpu, 3),
               weight = random_tensor({host.num_edges(), 3}, DType::kF32, kCpu, 4);
  const Sums heads = spmm_reference(host, weight, x);
  EXPECT_TRUE(near(spmm(adj, weight.to(device()), x.to(device())), heads.y, sum_tolerance(DType::kF32), 1e-7,
                   heads.scale));
  for (const std::int64_t n : {5, 13, 41, 64}) {
    const Tensor wide = random_tensor({host.cols(), n}, DType::kF32, kCpu, 3);
    const Sums want = spmm_reference(host, {}, wide);
    EXPECT_TRUE(near(spmm(adj, wide.to(device()), {SpmmAlgorithm::kRode, Accumulate::kAtomic}), want.y,
                     sum_tolerance(DType::kF32), 1e-7, want.scale));
  }
}

// Where all rows fit a GPU at once, but not as often as odd widths have tiles of 8 columns.
TEST_P(OpsSpmm, RowsThatFitAGpuOnceInOddWidths) {
  if (!device().is_cuda()) GTEST_SKIP() << "tiles of a GPU";
  for (const std::int64_t longest : {7, 3000}) {
    const SparseCase once{str("longest ", longest), [=] {
                            std::vector<std::int64_t> lengths;
                            for (std::int64_t i = 0; i < 9600; ++i) lengths.push_back(i % 8);
                            lengths[5] = longest;
                            return graph_with_lengths(lengths, 9000);
                          }};
    for (const std::int64_t n : {13, 23, 31, 37, 47})
      for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) check_case(once, n, dtype, device());
  }
}

// Widths that are read element by element where copies of X do not pay: here they do.
TEST_P(OpsSpmm, ManyEdgesOfFewColumns) {
  const SparseCase dense{"many_edges", [] {
                           std::vector<std::int64_t> lengths;
                           for (std::int64_t i = 0; i < 10000; ++i) lengths.push_back(i % 120);
                           return graph_with_lengths(lengths, 1000);
                         }};
  for (const std::int64_t n : {7, 23, 41}) check_case(dense, n, DType::kF32, device());
}

TEST_P(OpsSpmm, RealTopologies) {
  int found = 0;
  for (const char* name :
       {"soc-Slashdot0902", "soc-Epinions1", "email-Enron", "p2p-Gnutella31", "ca-CondMat"}) {
    const std::string path = shared_data(str("topology/", name, ".h5"));
    if (path.empty()) continue;
    ++found;
    const SparseCase sparse_case{name, [&] { return load_topology(path); }};
    check_case(sparse_case, 41, DType::kF32, device());
    if (device().is_cuda()) check_case(sparse_case, 16, DType::kF32, device());
  }
  if (found == 0) GTEST_SKIP() << "shared data folder not found (RODEO_SHARED_DATA)";
}

TEST_P(OpsSpmm, NoColumns) {
  const Adjacency adj = graph_with_lengths({3, 0, 2}, 5).to(device());
  EXPECT_EQ(spmm(adj, Tensor::empty({5, 0}, DType::kF32, device())).shape(), (Shape{3, 0}));
}

TEST_P(OpsSpmm, SlicedOperandsAreNotAligned) {
  for (const std::vector<std::int64_t>& lengths : {std::vector<std::int64_t>{40, 3, 600, 0}, {4, 3, 31, 0}}) {
    const Adjacency host = graph_with_lengths(lengths, 50), adj = host.to(device());
    const Tensor whole = random_tensor({51 * 4 + 1}, DType::kF32, kCpu);
    const Tensor x = whole.to(device()).slice(1, 1 + 50 * 4).reshape({50, 4});
    const Sums want = spmm_reference(host, {}, x.to(kCpu).clone());
    for (const SpmmAlgorithm algorithm : algorithms(adj))
      EXPECT_TRUE(near(spmm(adj, x, {algorithm}), want.y, 1e-5, 1e-7, want.scale));
  }
}

TEST_P(OpsSpmm, InfinityAndNanPropagateAlongEdgesOnly) {
  const Adjacency adj = Adjacency({2, 2, Tensor::from(std::vector<std::int64_t>{0, 1, 2}),
                                   Tensor::from(std::vector<std::int32_t>{0, 1})})
                            .to(device());
  const Tensor x = Tensor::from(std::vector<float>{NAN, 1}, {2, 1}, device());
  for (const SpmmAlgorithm algorithm : algorithms(adj)) {
    const auto y = spmm(adj, x, {algorithm}).to_vector<float>();
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_EQ(y[1], 1);
  }
}

// Enough edges for clusters and longer pieces: the plan differs, the sums do not.
TEST_P(OpsSpmm, TwentyRunsHaveTheSameBits) {
  std::vector<std::int64_t> lengths{20'000, 3000, 600, 0, 40};
  for (std::int64_t i = 0; i < 400; ++i) lengths.push_back(i % 70);
  const Adjacency adj = graph_with_lengths(lengths, 500).to(device());
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const std::int64_t n : {7, 41, 64}) {
      const Tensor x = random_tensor({500, n}, dtype, device());
      for (const SpmmAlgorithm algorithm :
           {SpmmAlgorithm::kRode, SpmmAlgorithm::kCsr, SpmmAlgorithm::kRodeTc, SpmmAlgorithm::kTca}) {
        const bool only_cuda = algorithm == SpmmAlgorithm::kRodeTc || algorithm == SpmmAlgorithm::kTca;
        if (only_cuda && !device().is_cuda()) continue;
        const Tensor first = spmm(adj, x, {algorithm});
        for (int run = 1; run < 20; ++run)
          ASSERT_TRUE(same_bits(spmm(adj, x, {algorithm}), first)) << algorithm << " " << dtype << " n=" << n;
      }
    }
}

TEST_P(OpsSpmm, ManyEdgesInLongPieces) {
  if (!device().is_cuda()) GTEST_SKIP() << "17 million edges: a GPU's case";
  std::vector<std::int64_t> lengths(16000, 1050);
  lengths[7] = 0, lengths[100] = 100000, lengths[101] = 2079, lengths[102] = 2080, lengths[103] = 31;
  const Adjacency adj = graph_with_lengths(lengths, 16000).to(device());
  const RodePlan& plan = rode_plan(adj);
  EXPECT_EQ(plan.split, RodePlan::kLongSplit);
  EXPECT_EQ(plan.num_split_rows(), 2);
  EXPECT_FALSE(row_clusters(adj).defined()) << "a random graph has no communities";
  const Tensor weight = random_tensor({adj.num_edges()}, DType::kF64, device(), 4);
  for (const std::int64_t n : {3, 40}) {
    const Tensor x = random_tensor({16000, n}, DType::kF64, device());
    const Poisoned poisoned;
    EXPECT_TRUE(near(spmm(adj, weight, x, {SpmmAlgorithm::kRode}),
                     doubles(spmm(adj, weight, x, {SpmmAlgorithm::kCsr})), 1e-9, 1e-9));
  }
}

// Offsets into X and Y that do not fit 31 bits: every row i is the sum of rows i and (7 i) mod rows.
TEST_P(OpsSpmm, OffsetsPast2GiB) {
  if (!device().is_cuda()) GTEST_SKIP() << "takes 5 GiB: a large GPU's case";
  constexpr std::int64_t kRows = 2'200'000, kWidth = 256;
  std::vector<std::int64_t> row, col;
  for (std::int64_t i = 0; i < kRows; ++i) {
    row.insert(row.end(), {i, i});
    col.insert(col.end(), {i, 7 * i % kRows});
  }
  const Adjacency adj =
      coo_to_csr(Tensor::from(row, device()), Tensor::from(col, device()), kRows, kRows).adj;
  const Tensor x = uniform({kRows, kWidth}, 0, 1, {1, 2}, DType::kF32, device());
  const auto row_of = [](const Tensor& t, std::int64_t i) { return doubles(t.slice(i, i + 1)); };
  const Poisoned poisoned;
  for (const SpmmAlgorithm algorithm : algorithms(adj)) {
    const Tensor y = spmm(adj, x, {algorithm});
    for (const std::int64_t i : {std::int64_t{0}, std::int64_t{1}, kRows / 2, kRows - 2, kRows - 1}) {
      std::vector<double> want = row_of(x, i);
      const std::vector<double> other = row_of(x, 7 * i % kRows);
      for (std::int64_t j = 0; j < kWidth; ++j) want[j] += other[j];
      EXPECT_TRUE(near(y.slice(i, i + 1), want, 1e-6)) << algorithm << " row " << i;
    }
  }
}

TEST_P(OpsSpmm, Gradients) {
  std::vector<std::int64_t> lengths{0, 3, 40, 1, 0, 600};
  const Adjacency adj = graph_with_lengths(lengths, 9).to(device());
  for (const SpmmAlgorithm algorithm : algorithms(adj)) {
    const SpmmOptions options{algorithm};
    EXPECT_TRUE(gradients_ok([&](const auto& in) { return spmm(adj, in[0], options); },
                             {random_variable({9, 3}, device())}));
  }
  const Adjacency small = graph_with_lengths({0, 3, 40, 1, 0}, 7).to(device());
  EXPECT_TRUE(gradients_ok([&](const auto& in) { return spmm(small, in[0], in[1]); },
                           {random_variable({44}, device()), random_variable({7, 5}, device(), 2)}));
}

TEST_P(OpsSpmm, GradientOnASymmetricGraphNeedsNoTranspose) {
  const Tensor row = Tensor::from(std::vector<std::int64_t>{0, 1, 2, 3}),
               col = Tensor::from(std::vector<std::int64_t>{1, 2, 3, 0});
  const Adjacency adj = coo_to_csr(row.to(device()), col.to(device()), 4, 4, {.symmetrize = true}).adj;
  EXPECT_TRUE(transpose_pattern(adj) == adj);
  EXPECT_TRUE(gradients_ok([&](const auto& in) { return spmm(adj, in[0], in[1]); },
                           {random_variable({8}, device()), random_variable({4, 3}, device(), 2)}));
}

TEST_P(OpsSpmm, Errors) {
  const Adjacency adj = graph_with_lengths({1, 2, 1}, 3).to(device());
  const Tensor x = Tensor::zeros({4, 5}, DType::kF32, device());
  EXPECT_ERROR(spmm(adj, x), "[spmm] x must be [3, n], got [4, 5]");
  EXPECT_ERROR(spmm(adj, Tensor::zeros({3}, DType::kF32, device())),
               "[spmm] x must be a matrix [m, n], got [3]");
  EXPECT_ERROR(spmm(adj, Tensor::zeros({3, 2}, DType::kI32, device())),
               "[spmm] x must be floating point, got i32");
  const Tensor good = Tensor::zeros({3, 2}, DType::kF32, device());
  EXPECT_ERROR(spmm(adj, Tensor::zeros({3}, DType::kF32, device()), good),
               "[spmm] weight must be [4], got [3]");
  EXPECT_ERROR(spmm(adj, Tensor::zeros({4, 3}, DType::kF32, device()), good),
               "[spmm] x must be [3, 3, n] as weight has 3 heads, got [3, 2]");
  EXPECT_ERROR(spmm(adj, Tensor::zeros({4}, DType::kF64, device()), good),
               "[spmm] weight must have the dtype of x, f32, got f64");
  if (!device().is_cuda()) {
    EXPECT_ERROR(spmm(adj, good, {SpmmAlgorithm::kCusparse}),
                 "[spmm] cusparse runs on CUDA only, and the graph is on cpu: choose auto, csr or rode");
  }
}

TEST(OpsSpmmNames, Parse) {
  EXPECT_EQ(parse_spmm_algorithm("rode"), SpmmAlgorithm::kRode);
  EXPECT_ERROR(parse_spmm_algorithm("fast"),
               "unknown spmm algorithm 'fast': expected one of " + kEnumNames<SpmmAlgorithm>.names());
  EXPECT_TRUE(kEnumNames<SpmmAlgorithm>.names("|").starts_with("auto|csr|"));
}

}  // namespace
}  // namespace rodeo::test
