#include "ops/sddmm.h"

#include <algorithm>

#include "core/cuda_graph.h"
#include "ops/sparse/row_order.h"
#include "ops/spmm.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsSddmm : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsSddmm);

constexpr SddmmOp kOps[] = {SddmmOp::kDot, SddmmOp::kAdd, SddmmOp::kMul};
constexpr SddmmAlgorithm kAlgorithms[] = {SddmmAlgorithm::kAuto, SddmmAlgorithm::kRows,
                                          SddmmAlgorithm::kEdges};
bool supports(SddmmAlgorithm algorithm, SddmmOp op) {
  return op == SddmmOp::kDot || algorithm != SddmmAlgorithm::kEdges;
}

struct ExpectedEdges {
  std::vector<double> s, scale;  // scale: the sum of the terms' magnitudes, which rounding is relative to
};

// b1 [rows, heads, k], b2 [cols, heads, k]
ExpectedEdges reference(const Adjacency& adj, const Tensor& b1, const Tensor& b2, SddmmOp op,
                        const Tensor& weight) {
  const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
  const auto col = adj.csr().col.to_vector<std::int32_t>();
  const std::int64_t heads = b1.dim(1), k = b1.dim(2), width = op == SddmmOp::kDot ? 1 : k;
  const std::vector<double> left = doubles(b1), right = doubles(b2),
                            w = weight.defined() ? doubles(weight) : std::vector<double>(col.size(), 1);
  ExpectedEdges out{std::vector<double>(col.size() * static_cast<std::size_t>(heads * width)), {}};
  out.scale = out.s;
  const auto add_edge = [&](std::int64_t i, std::int64_t e) {
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t j = 0; j < k; ++j) {
        const double a = left[(i * heads + h) * k + j], b = right[(col[e] * heads + h) * k + j];
        const std::int64_t at = (e * heads + h) * width + (width == 1 ? 0 : j);
        const double term = w[e] * (op == SddmmOp::kAdd ? a + b : a * b);
        out.s[at] += term;
        out.scale[at] += op == SddmmOp::kAdd ? std::abs(w[e]) * (std::abs(a) + std::abs(b)) : std::abs(term);
      }
  };
  const auto edges = static_cast<std::int64_t>(col.size());
#pragma omp parallel for if (edges * heads * k > 16384)  // over edges: a single row can have most of them
  for (std::int64_t e = 0; e < edges; ++e)
    add_edge(std::upper_bound(row_ptr.begin(), row_ptr.end(), e) - row_ptr.begin() - 1, e);
  return out;
}

struct Problem {
  std::string name;
  Adjacency host, adj;  // adj: on the device
  Device device;
};

// heads = 0: operands of rank 2
void check_case(const Problem& problem, std::int64_t heads, std::int64_t k, DType dtype, SddmmOp op,
                bool weighted) {
  const std::string& name = problem.name;
  const Adjacency &host = problem.host, &adj = problem.adj;
  const Device device = problem.device;
  if (is_for_a_gpu(device, host.num_edges(), std::max<std::int64_t>(heads, 1) * k)) return;
  const auto shape = [&](std::int64_t rows) { return heads == 0 ? Shape{rows, k} : Shape{rows, heads, k}; };
  const auto cube = [&](const Tensor& b) { return heads == 0 ? b.reshape({b.dim(0), 1, k}) : b; };
  const Tensor b1 = random_tensor(shape(host.rows()), dtype, kCpu, 5),
               b2 = random_tensor(shape(host.cols()), dtype, kCpu, 6),
               weight = weighted ? random_tensor({host.num_edges()}, dtype, kCpu, 7) : Tensor();
  const ExpectedEdges want = reference(host, cube(b1), cube(b2), op, weight);
  const Tensor b1_there = b1.to(device), b2_there = b2.to(device),
               weight_there = weighted ? weight.to(device) : Tensor();
  const std::int64_t edges = host.num_edges();
  const Shape expected = op != SddmmOp::kDot ? shape(edges) : heads == 0 ? Shape{edges} : Shape{edges, heads};
  const Poisoned poisoned;
  for (const SddmmAlgorithm algorithm : kAlgorithms) {
    if (!supports(algorithm, op)) continue;
    const auto run = [&] { return sddmm(adj, b1_there, b2_there, op, weight_there, {algorithm}); };
    const std::string what = str(name, " ", op, " ", algorithm, " heads=", heads, " k=", k, " ", dtype,
                                 weighted ? " weighted" : "");
    const Tensor s = run();
    ASSERT_EQ(s.shape(), expected) << what;
    ASSERT_TRUE(near(s, want.s, sum_tolerance(dtype), 1e-7, want.scale)) << what;
    ASSERT_TRUE(same_bits(s, run())) << what;
    if (!device.is_cuda()) break;  // one loop for all algorithms, see AlgorithmsShareTheCpuLoop
  }
}

template <class F>
void for_each_problem(Device device, F&& f) {
  for (const SparseCase& sparse_case : sparse_cases()) {
    const Adjacency host = sparse_case.make();
    f(Problem{sparse_case.name, host, host.to(device), device});
  }
}

TEST_P(OpsSddmm, DotOnAllCasesAndWidths) {
  for_each_problem(device(), [](const Problem& problem) {
    for (const std::int64_t k : {0, 1, 3, 7, 8, 16, 31, 32, 33, 41, 47, 64, 100, 128, 256, 602})
      check_case(problem, 0, k, DType::kF32, SddmmOp::kDot, k % 2 == 1);
  });
}

TEST_P(OpsSddmm, DotOfOtherTypes) {
  for_each_problem(device(), [](const Problem& problem) {
    for (const DType dtype : {DType::kF64, DType::kBF16, DType::kF16})
      for (const std::int64_t k : {1, 3, 8, 16, 33, 64, 100, 256})
        check_case(problem, 0, k, dtype, SddmmOp::kDot, k % 2 == 0);
  });
}

TEST_P(OpsSddmm, DotOfHeads) {
  for_each_problem(device(), [](const Problem& problem) {
    for (const std::int64_t heads : {1, 2, 3, 8})
      for (const std::int64_t k : {1, 5, 8, 32, 41, 64}) {
        if (heads * k > 200) continue;  // the reference takes its time
        check_case(problem, heads, k, DType::kF32, SddmmOp::kDot, heads == 3);
        if (k <= 8) check_case(problem, heads, k, DType::kBF16, SddmmOp::kDot, heads == 2);
      }
  });
}

// Rows that are read in several slices: more than 2048 bytes, alone and as a head.
TEST_P(OpsSddmm, DotOfLongRows) {
  const Adjacency host = graph_with_lengths({3, 0, 40, 600, 7}, 30);
  const Problem problem{"long rows", host, host.to(device()), device()};
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16})
    for (const std::int64_t k : {511, 512, 513, 1024, 1433, 3703, 5000}) {
      check_case(problem, 0, k, dtype, SddmmOp::kDot, k % 2 == 0);
      check_case(problem, 3, k, dtype, SddmmOp::kDot, k % 2 == 1);
    }
}

TEST_P(OpsSddmm, WhatAGraphKeepsIsNotMadeInACapture) {
  if (!device().is_cuda()) GTEST_SKIP() << "CUDA graphs";
  const Tensor b = random_tensor({6, 4}, DType::kF32, device());
  const auto graph = [&] { return graph_with_lengths({2, 0, 3, 1, 1, 2}, 6).to(device()); };
  const Adjacency used = graph(), unused = graph();
  sddmm(used, b, b);  // loads the kernels
  EXPECT_ERROR(
      CudaGraph::capture(device(), [&] { sddmm(unused, b, b); }),
      "[cuda_graph] the work cannot be captured: [edge_rows] the row of every edge cannot be computed during "
      "CUDA graph capture: run the work once before capturing");
  CudaGraph::capture(device(), [&] { sddmm(used, b, b); }).launch();
}

// Rows just under and at the mean length from which CUDA goes through rows and not across them, and more
// edges than one batch for every warp that fits the GPU.
TEST_P(OpsSddmm, DotOfShortAndOfLongRows) {
  for (const std::int64_t mean : {31, 32}) {
    std::vector<std::int64_t> lengths(9000);
    for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = i % 2 == 0 ? 0 : 2 * mean;
    lengths[0] = 5;
    if (mean == 31) lengths[4000] = 1500;  // some 280,000 edges
    const Adjacency host = graph_with_lengths(lengths, 700);
    const Problem problem{str("rows of ", mean), host, host.to(device()), device()};
    for (const std::int64_t k : {4, 12, 32, 64}) {
      check_case(problem, 0, k, DType::kF32, SddmmOp::kDot, k == 12);
      check_case(problem, 0, k, DType::kF16, SddmmOp::kDot, k == 64);
    }
    check_case(problem, 0, 128, DType::kF32, SddmmOp::kDot, false);
    check_case(problem, 3, 32, DType::kF32, SddmmOp::kDot, true);
    check_case(problem, 9, 8, DType::kF64, SddmmOp::kDot, false);
  }
}

// By rows of a mesh CUDA covers wide heads with 4 loads a lane.
TEST_P(OpsSddmm, DotOnAMesh) {
  constexpr std::int64_t kRows = 700, kReach = 3;
  std::vector<std::int64_t> row_ptr{0};
  std::vector<std::int32_t> col;
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t j = std::max<std::int64_t>(0, i - kReach); j <= std::min(kRows - 1, i + kReach); ++j)
      col.push_back(static_cast<std::int32_t>(j));
    row_ptr.push_back(std::ssize(col));
  }
  const Adjacency host = Adjacency::trusted({kRows, kRows, Tensor::from(row_ptr), Tensor::from(col)});
  ASSERT_TRUE(row_locality(host).is_local());
  const Problem problem{"mesh", host, host.to(device()), device()};
  for (const std::int64_t k : {65, 68, 100, 128, 129, 200, 256, 260}) {
    check_case(problem, 0, k, DType::kF32, SddmmOp::kDot, k % 8 == 0);
    check_case(problem, 0, 2 * k, DType::kF16, SddmmOp::kDot, k % 8 != 0);
  }
  check_case(problem, 3, 72, DType::kF32, SddmmOp::kDot, true);
  check_case(problem, 0, 72, DType::kF64, SddmmOp::kDot, false);
}

// b2 larger than any L2 while 256, or only 128, bytes of its rows are not: read in slices of columns.
TEST_P(OpsSddmm, DotInSlicesOfColumns) {
  if (!device().is_cuda()) GTEST_SKIP() << "the CPU kernel has no slices";
  for (const std::int64_t cols : {180'000, 400'000, 180'001, 400'001}) {
    std::vector<std::int64_t> lengths(2000, cols % 2 == 0 ? 9 : 40);  // across rows, and by rows
    lengths[3] = 3000;
    const Adjacency host = graph_with_lengths(lengths, cols);
    const Problem problem{str(cols, " columns"), host, host.to(device()), device()};
    for (const std::int64_t k : {96, 131}) check_case(problem, 0, k, DType::kF32, SddmmOp::kDot, k % 2 == 1);
    for (const std::int64_t k : {260, 264}) check_case(problem, 0, k, DType::kBF16, SddmmOp::kDot, true);
  }
}

TEST_P(OpsSddmm, AddAndMulOnAllCases) {
  for_each_problem(device(), [](const Problem& problem) {
    for (const SddmmOp op : {SddmmOp::kAdd, SddmmOp::kMul}) {
      for (const std::int64_t k : {0, 1, 3, 7, 8, 16, 33, 47, 64}) {
        check_case(problem, 0, k, DType::kF32, op, k % 2 == 1);
        if (k <= 8) check_case(problem, 0, k, DType::kF16, op, k % 2 == 0);
      }
      for (const DType dtype : {DType::kF64, DType::kBF16}) check_case(problem, 0, 8, dtype, op, true);
      check_case(problem, 3, 4, DType::kF32, op, true);
    }
  });
}

TEST_P(OpsSddmm, AddAndMulOfWideRows) {
  const Adjacency host = graph_with_lengths({3, 0, 40, 600, 7}, 30);
  const Problem problem{"wide", host, host.to(device()), device()};
  for (const SddmmOp op : {SddmmOp::kAdd, SddmmOp::kMul})
    for (const std::int64_t k : {100, 128, 256, 602, 1433}) check_case(problem, 0, k, DType::kF32, op, true);
}

TEST_P(OpsSddmm, SlicedOperandsAreNotAligned) {
  const Adjacency host = graph_with_lengths({40, 3, 600, 0}, 50), adj = host.to(device());
  const auto unaligned = [&](std::int64_t rows, std::uint64_t seed) {
    return random_tensor({rows * 8 + 1}, DType::kF32, kCpu, seed).to(device()).slice(1, 1 + rows * 8);
  };
  const auto on_host = [](const Tensor& b) { return b.to(kCpu).clone().reshape({b.numel() / 8, 1, 8}); };
  const Tensor b1 = unaligned(4, 1).reshape({4, 8}), b2 = unaligned(50, 2).reshape({50, 8});
  for (const SddmmOp op : kOps) {
    const ExpectedEdges want = reference(host, on_host(b1), on_host(b2), op, {});
    for (const SddmmAlgorithm algorithm : kAlgorithms) {
      if (!supports(algorithm, op)) continue;
      const auto ok = [&](const Tensor& left, const Tensor& right) {
        return near(sddmm(adj, left, right, op, {}, {algorithm}), want.s, 1e-5, 1e-7, want.scale);
      };
      EXPECT_TRUE(ok(b1, b2)) << op << " " << algorithm;
      EXPECT_TRUE(ok(b1.clone(), b2)) << op << " " << algorithm;
      EXPECT_TRUE(ok(b1, b2.clone())) << op << " " << algorithm;
    }
  }
}

// Only edge 0 sees the row with infinities, whatever else a kernel loads beside it.
TEST_P(OpsSddmm, InfinityAndNanStayAtTheirEdges) {
  for (const std::int64_t k : {2, 5, 24, 41, 80, 300}) {
    const Adjacency adj = Adjacency({2, 3, Tensor::from(std::vector<std::int64_t>{0, 3, 5}),
                                     Tensor::from(std::vector<std::int32_t>{0, 1, 2, 2, 1})})
                              .to(device());
    std::vector<float> values(static_cast<std::size_t>(3 * k), 1);
    std::fill(values.begin(), values.begin() + k, INFINITY);
    values[static_cast<std::size_t>(2 * k)] = NAN;
    const Tensor b1 = Tensor::full({2, k}, 1, DType::kF32, device());
    const Tensor b2 = Tensor::from(values, {3, k}, device());
    const auto sum = static_cast<float>(k);
    for (const SddmmAlgorithm algorithm : kAlgorithms) {
      const auto s = sddmm(adj, b1, b2, SddmmOp::kDot, {}, {algorithm}).to_vector<float>();
      EXPECT_EQ(s[0], INFINITY) << k << " " << algorithm;
      EXPECT_EQ(s[1], sum) << k << " " << algorithm;
      EXPECT_TRUE(std::isnan(s[2])) << k << " " << algorithm;
      EXPECT_TRUE(std::isnan(s[3])) << k << " " << algorithm;
      EXPECT_EQ(s[4], sum) << k << " " << algorithm;
    }
  }
}

TEST_P(OpsSddmm, Gradients) {
  const Adjacency adj = graph_with_lengths({0, 3, 40, 1, 0}, 7).to(device());
  for (const Shape& row : {Shape{4}, Shape{3, 2}}) {
    const auto operand = [&](std::int64_t rows, std::uint64_t seed) {
      const Shape shape = row.rank() == 1 ? Shape{rows, row[0]} : Shape{rows, row[0], row[1]};
      return random_variable(shape, device(), seed);
    };
    for (const SddmmOp op : kOps)
      for (const SddmmAlgorithm algorithm : kAlgorithms) {
        if (!supports(algorithm, op)) continue;
        const Variable b1 = operand(5, 1), b2 = operand(7, 2), weight = random_variable({44}, device(), 3);
        const SddmmOptions options{algorithm};
        EXPECT_TRUE(gradients_ok(
            [&](const auto& in) { return sddmm(adj, in[0], in[1], op, Variable(), options); }, {b1, b2}))
            << op << " " << algorithm << " " << row;
        EXPECT_TRUE(gradients_ok([&](const auto& in) { return sddmm(adj, in[0], in[1], op, in[2], options); },
                                 {b1, b2, weight}))
            << op << " " << algorithm << " " << row;
      }
  }
}

TEST_P(OpsSddmm, AlgorithmsShareTheCpuLoop) {
  if (device().is_cuda()) GTEST_SKIP() << "CUDA has a kernel for each";
  const Adjacency adj = graph_with_lengths({0, 3, 600, 1, 0}, 70);
  const Tensor b1 = random_tensor({5, 20}, DType::kF32, kCpu),
               b2 = random_tensor({70, 20}, DType::kF32, kCpu, 2);
  const Tensor s = sddmm(adj, b1, b2);
  for (const SddmmAlgorithm algorithm : kAlgorithms)
    EXPECT_TRUE(same_bits(s, sddmm(adj, b1, b2, SddmmOp::kDot, {}, {algorithm}))) << algorithm;
}

TEST_P(OpsSddmm, IsTheGradientOfSpmmWeights) {
  const Adjacency adj = graph_with_lengths({0, 3, 40, 1, 0}, 7).to(device());
  for (const std::int64_t heads : {1, 3})
    EXPECT_TRUE(
        gradients_ok([&](const auto& in) { return spmm(adj, in[0], in[1]); },
                     {random_variable({44, heads}, device()), random_variable({7, heads, 5}, device(), 2)}))
        << heads << " heads";
}

TEST_P(OpsSddmm, GradientsWithoutEdges) {
  const Adjacency adj = graph_with_lengths({0, 0}, 3).to(device());
  for (const SddmmOp op : kOps) {
    const Variable b1 = random_variable({2, 4}, device()), b2 = random_variable({3, 4}, device()),
                   weight = random_variable({0}, device());
    const Variable s = sddmm(adj, b1, b2, op, weight);
    s.backward(Tensor::zeros(s.shape(), DType::kF64, device()));
    EXPECT_EQ(doubles(b1.grad()), std::vector<double>(8, 0)) << op;
    EXPECT_EQ(doubles(b2.grad()), std::vector<double>(12, 0)) << op;
    EXPECT_EQ(weight.grad().shape(), Shape{0}) << op;
  }
}

TEST_P(OpsSddmm, Errors) {
  const Adjacency adj = graph_with_lengths({1, 2, 1}, 4).to(device());
  const auto zeros = [&](const Shape& shape, DType dtype = DType::kF32) {
    return Tensor::zeros(shape, dtype, device());
  };
  const Tensor b1 = zeros({3, 2}), b2 = zeros({4, 2});
  EXPECT_ERROR(sddmm(adj, b1, zeros({4, 3})), "[sddmm] b2 must be [4, 2], got [4, 3]");
  EXPECT_ERROR(sddmm(adj, zeros({4, 2}), b2), "[sddmm] b1 must be [3, 2], got [4, 2]");
  EXPECT_ERROR(sddmm(adj, zeros({3, 2, 5}), b2), "[sddmm] b2 must be [4, 2, 5], got [4, 2]");
  EXPECT_ERROR(sddmm(adj, zeros({3}), b2), "[sddmm] b1 must be [m, k] or [m, heads, k], got [3]");
  EXPECT_ERROR(sddmm(adj, zeros({3, 2}, DType::kI32), b2), "[sddmm] b1 must be floating point, got i32");
  EXPECT_ERROR(sddmm(adj, b1, zeros({4, 2}, DType::kF64)),
               "[sddmm] b2 must have the dtype of b1, f32, got f64");
  EXPECT_ERROR(sddmm(adj, b1, b2, SddmmOp::kDot, zeros({3})), "[sddmm] weight must be [4], got [3]");
  EXPECT_ERROR(sddmm(adj, b1, b2, SddmmOp::kAdd, zeros({4}, DType::kF64)),
               "[sddmm] weight must have the dtype of b1, f32, got f64");
  EXPECT_ERROR(sddmm(adj, b1, b2, SddmmOp::kAdd, {}, {SddmmAlgorithm::kEdges}),
               "[sddmm] the edges algorithm computes dot products, got op add: leave the algorithm out");
}

TEST(OpsSddmmNames, Parse) {
  for (const SddmmAlgorithm algorithm : kAlgorithms)
    EXPECT_EQ(parse_sddmm_algorithm(name(algorithm)), algorithm);
  EXPECT_ERROR(parse_sddmm_algorithm("fast"),
               "unknown sddmm algorithm 'fast': expected one of auto, rows, edges");
}

}  // namespace
}  // namespace rodeo::test
