// What sparse_bench claims: that wrong results are found, and how numbers are compared.
#include <cmath>

#include "bench/export.h"
#include "bench/measure.h"
#include "bench/verify.h"
#include "ops/scale_rows.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"

namespace rodeo::bench {
namespace {

class BenchVerify : public test::OnDevice {};
RODEO_ON_ALL_DEVICES(BenchVerify);

const std::vector<Op> kOps{Op::kSpmm, Op::kSddmm, Op::kSpmv};

Adjacency small_graph(Device device) {
  return test::graph_with_lengths({3, 0, 40, 1, 7, 700}, 50).to(device);
}

Problem random_problem(Op op, const Adjacency& adj, DType dtype, bool weighted, std::int64_t n = 5) {
  const Tensor weight = draw_operand({adj.num_edges()}, 3, dtype, adj.device());
  return make_problem(op, adj, dtype, op == Op::kSpmv ? 1 : n, weighted ? weight : Tensor());
}

TEST_P(BenchVerify, EveryKernelPasses) {
  const Adjacency adj = small_graph(device());
  for (const Op op : kOps)
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16})
      for (const bool weighted : {false, true}) {
        const Problem problem = random_problem(op, adj, dtype, weighted);
        int ran = 0;
        for (const Kernel& kernel : select_kernels(op, {}))
          if (const bench::Run run = kernel.peer ? bench::Run() : kernel.prepare(problem)) {
            EXPECT_EQ(verify(kernel, problem, run).text, "");
            ++ran;
          }
        EXPECT_GT(ran, 0) << name(op) << " " << dtype;
      }
}

TEST_P(BenchVerify, ARowOfAutoNamesTheKernelThatItTook) {
  const NamedGraph graph{.name = "small", .adj = small_graph(device())};
  for (const Op op : kOps)
    for (const bool weighted : {false, true}) {
      const Problem problem = random_problem(op, graph.adj, DType::kF32, weighted);
      const Kernel kernel = select_kernels(op, {"auto"}).front();
      kernel.prepare(problem)();
      const Result result = make_result(graph, problem, kernel, 1, {Verdict::kRight, {}, {}}, {});
      const std::vector<Kernel> taken = select_kernels(op, {result.variant});
      ASSERT_EQ(taken.size(), 1u) << name(op) << ": " << result.variant;
      EXPECT_EQ(taken.front().name, result.variant) << name(op);
      EXPECT_NE(result.variant, "auto") << name(op);
    }
}

TEST_P(BenchVerify, AtomicSumsAreTimedWhereRowsAreSplit) {
  const Kernel atomic = select_kernels(Op::kSpmm, {"rode-atomic"}).front();
  const auto timed = [&](const std::vector<std::int64_t>& lengths) {
    const Adjacency adj = test::graph_with_lengths(lengths, 50).to(device());
    return static_cast<bool>(atomic.prepare(make_problem(Op::kSpmm, adj, DType::kF32, 5)));
  };
  EXPECT_FALSE(timed({3, 0, 40}));
  EXPECT_EQ(timed({3, 0, 4000}), device().is_cuda());
}

TEST_P(BenchVerify, OneWrongOrUnwrittenElementIsFound) {
  for (const Op op : kOps)
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16})
      for (const std::int64_t n : {5, 40}) {
        const Problem problem = random_problem(op, small_graph(device()), dtype, true, n);
        const Kernel kernel = select_kernels(op, {}).front();
        const bench::Run right = kernel.prepare(problem);
        const auto with = [&](std::int64_t at, double value) {
          return bench::Run([=] {
            const Tensor y = right(), flat = y.reshape({y.numel()});
            flat.slice(at, at + 1).fill(value);
            return y;
          });
        };
        const std::int64_t elements = right().numel();
        for (const std::int64_t at : {std::int64_t{0}, elements / 2, elements - 1})
          for (const double value : {std::nan(""), 1000.0}) {
            const Verification found = verify(kernel, problem, with(at, value));
            EXPECT_EQ(found.verdict, Verdict::kWrong);
            EXPECT_EQ(found.text.find(str("wrong result: ", name(op), " ", kernel.name, " ", dtype)), 0u)
                << found.text;
          }
        const bench::Run unwritten = [&] {
          const Tensor y = right(), out = Tensor::empty(y.shape(), y.dtype(), y.device());
          out.slice(0, y.dim(0) - 1).copy_from(y.slice(0, y.dim(0) - 1));
          return out;
        };
        EXPECT_EQ(verify(kernel, problem, unwritten).verdict, Verdict::kWrong);
      }
}

// One of 100,000 nonzeros of a row left out.
TEST_P(BenchVerify, ALostNonzeroIsFoundInEveryType) {
  const Adjacency adj = test::graph_with_lengths({3, 0, 700, 100'000}, 900).to(device());
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16})
    for (const bool tf32 : {false, true}) {
      if (tf32 && dtype != DType::kF32) continue;
      const Problem problem = random_problem(Op::kSpmm, adj, dtype, true, 16);
      problem.weight.slice(adj.num_edges() - 1, adj.num_edges()).fill(1);
      Problem lossy = problem;
      lossy.weight = problem.weight.clone();
      lossy.weight.slice(adj.num_edges() - 1, adj.num_edges()).fill(0);
      Kernel kernel = select_kernels(Op::kSpmm, {"csr"}).front();
      kernel.tf32 = tf32;
      EXPECT_EQ(verify(kernel, problem, kernel.prepare(lossy)).verdict, Verdict::kWrong) << dtype << tf32;
    }
}

TEST_P(BenchVerify, APeerMayBeInexactButNotWrong) {
  const Problem problem = random_problem(Op::kSpmm, small_graph(device()), DType::kF16, true);
  Kernel kernel = select_kernels(Op::kSpmm, {"csr"}).front();
  const bench::Run right = kernel.prepare(problem);
  const auto verdict = [&](bool peer, double factor) {
    kernel.peer = peer;
    return verify(kernel, problem,
                  [&] {
                    const Tensor y = right();
                    return scale_rows(y, Tensor::full({y.dim(0)}, factor, DType::kF32, y.device()));
                  })
        .verdict;
  };
  EXPECT_EQ(verdict(true, 1.005), Verdict::kRight);
  EXPECT_EQ(verdict(true, 1.03), Verdict::kInexact);
  EXPECT_EQ(verdict(true, 1.2), Verdict::kWrong);
  EXPECT_EQ(verdict(false, 1.03), Verdict::kWrong);
}

TEST_P(BenchVerify, AKernelWithoutEnoughMemoryIsSkipped) {
  const NamedGraph graph{"small", small_graph(device())};
  Report report;
  const Kernel kernel{"large", Op::kSpmm, [](const Problem&) -> bench::Run {
                        return []() -> Tensor { throw OutOfMemory("too large"); };
                      }};
  const auto cell = measure_cell(graph, make_problem(Op::kSpmm, graph.adj, DType::kF32, 5),
                                 {kernel, select_kernels(Op::kSpmm, {"csr"}).front()}, 1, report);
  ASSERT_EQ(cell.size(), 1u);
  EXPECT_EQ(cell[0].kernel, "csr");
  EXPECT_EQ(report.skipped, std::vector<std::string>{"spmm large, small, f32, n = 5: too large"});
}

// The reference of the device itself against sums of the host.
TEST_P(BenchVerify, TheDistanceIsThatOfTheHost) {
  const Adjacency adj = small_graph(kCpu);
  for (const Op op : kOps)
    for (const std::int64_t n : {1, 5, 33, 70}) {
      if (op == Op::kSpmv && n > 1) continue;
      const Problem here = random_problem(op, adj, DType::kF16, true, n);
      Problem there = here;
      there.adj = adj.to(device()), there.x = here.x.to(device()), there.weight = here.weight.to(device());
      if (here.b1.defined()) there.b1 = here.b1.to(device());
      const Tensor result =
          draw_operand({op == Op::kSddmm ? adj.num_edges() : adj.rows() * n}, 9, DType::kF32, kCpu);
      const Distance a = distance_to_float64(here, result),
                     b = distance_to_float64(there, result.to(device()));
      EXPECT_GT(a.total, 0.1);
      EXPECT_NEAR(a.total, b.total, 1e-12);
      EXPECT_NEAR(a.row, b.row, 1e-12 * a.row);
      EXPECT_NEAR(a.element, b.element, 1e-12 * a.element);
    }
}

TEST(BenchKernels, AFilterNamesAKernelOrAFamily) {
  EXPECT_EQ(select_kernels(Op::kSpmm, {"rode"}).front().name, "rode");
  EXPECT_TRUE(select_kernels(Op::kSpmm, {"ro"}).empty());
  for (const Kernel& kernel : select_kernels(Op::kSpmm, {"cusparse"})) EXPECT_TRUE(kernel.peer);
  EXPECT_EQ(select_kernels(Op::kSpmm, {"rode"}).size(), 1) << "rode alone, without rode-tc";
  EXPECT_EQ(select_kernels(Op::kSpmm, {"csr", "rode-tc"}).size(), 2);
  for (const Op op : kOps)
    for (const Kernel& kernel : select_kernels(op, {}))
      EXPECT_EQ(select_kernels(op, {kernel.name}).size(), 1);
}

TEST(BenchLimits, AreThoseOfTheNearestTableAndTheLongestRowNotLonger) {
  Limits limits;
  EXPECT_EQ(limits.gather(128, 1 << 20), 0);
  limits.gathers = {{32, 1000, 1}, {64, 1000, 2}, {128, 1000, 3},
                    {32, 8000, 4}, {64, 8000, 5}, {128, 8000, 6}};
  EXPECT_EQ(limits.gather(64, 10), 2);
  EXPECT_EQ(limits.gather(127, 2000), 2);
  EXPECT_EQ(limits.gather(1024, 4000), 6);
  EXPECT_EQ(limits.gather(32, 100000), 4);
  EXPECT_EQ(limits.gather(8, 100000), 1);  // a quarter of the bytes in the same time
}

Result timed(const std::string& graph, const std::string& kernel, bool peer, double ms) {
  return {graph, 1, 1, 1, Op::kSpmm, DType::kF32, false, 16, kernel, peer, ms, 1, 1, NAN, 0};
}

TEST(BenchResults, RatiosAreToTheFastestPeerAndToItsDefault) {
  std::vector<Result> cell{timed("a", "rode", false, 2), timed("a", "cusparse-default", true, 8),
                           timed("a", "cusparse-alg2", true, 4)};
  compare_with_peers(cell);
  EXPECT_EQ(cell[0].vs_best, 2);
  EXPECT_EQ(cell[0].vs_default, 4);
  std::vector<Result> alone{timed("a", "rode", false, 2)};
  compare_with_peers(alone);
  EXPECT_TRUE(std::isnan(alone[0].vs_best));
}

TEST(BenchResults, AWrongPeerIsNotComparedWith) {
  std::vector<Result> cell{timed("a", "rode", false, 2), timed("a", "csr", false, 1),
                           timed("a", "cusparse-default", true, 1), timed("a", "cusparse-alg2", true, 4)};
  cell[1].verdict = cell[2].verdict = Verdict::kWrong;
  cell[3].verdict = Verdict::kInexact;
  compare_with_peers(cell);
  EXPECT_EQ(cell[0].vs_best, 2);
  EXPECT_TRUE(std::isnan(cell[0].vs_default));
  EXPECT_TRUE(std::isnan(cell[1].vs_best));
}

TEST(BenchResults, WeightedProblemsAreSummarizedApart) {
  std::vector<Result> cell{timed("a", "rode", false, 2), timed("a", "cusparse-default", true, 8)};
  compare_with_peers(cell);
  std::vector<Result> all = cell;
  for (Result& result : cell) result.weighted = true, result.ms *= result.peer ? 2 : 1;
  compare_with_peers(cell);
  all.insert(all.end(), cell.begin(), cell.end());
  const std::vector<Summary> lines = summarize(all);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_DOUBLE_EQ(lines[0].mean, 4);
  EXPECT_DOUBLE_EQ(lines[2].mean, 8);
  EXPECT_TRUE(lines[2].weighted);
}

TEST(BenchResults, TheSummaryIsTheGeometricMeanAndTheWorstCell) {
  std::vector<Result> all;
  for (const auto& [graph, csr, rode] : {std::tuple("a", 1.0, 2.0), std::tuple("b", 8.0, 0.5)}) {
    std::vector<Result> cell{timed(graph, "csr", false, csr), timed(graph, "rode", false, rode),
                             timed(graph, "cusparse-default", true, 4)};
    compare_with_peers(cell);
    all.insert(all.end(), cell.begin(), cell.end());
  }
  const std::vector<Summary> lines = summarize(all);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].kernel, "csr");
  EXPECT_DOUBLE_EQ(lines[0].mean, std::sqrt(4 * 0.5));
  EXPECT_EQ(lines[0].worst, 0.5);
  EXPECT_EQ(lines[0].worst_cell, "b, n = 16");
  EXPECT_EQ(lines[2].kernel, kBestOfOurs);
  EXPECT_DOUBLE_EQ(lines[2].mean, std::sqrt(4 * 8));
  EXPECT_EQ(lines[2].worst_cell, "a, n = 16 (csr)");
}

TEST(BenchExport, NamesAreQuotedAndUnknownNumbersLeftOut) {
  Report report;
  report.results = {timed("a,\"b\"", "rode", false, 2)};
  std::ostringstream csv, json;
  write_csv(report, csv);
  EXPECT_NE(csv.str().find("\n\"a,\"\"b\"\"\",1,1,1,spmm,f32,0,16,rode,0,2,1,1,,0,,,,\n"), std::string::npos)
      << csv.str();
  write_json(report, json);
  EXPECT_NE(json.str().find("{\"graph\": \"a,\\\"b\\\"\", "), std::string::npos) << json.str();
  EXPECT_NE(json.str().find("\"vs_best\": null"), std::string::npos) << json.str();
}

}  // namespace
}  // namespace rodeo::bench
