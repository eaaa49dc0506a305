// What sparse_bench claims: that wrong results are found, and how numbers are compared.
#include <cmath>

#include "tests/bench/export.h"
#include "tests/bench/verify.h"
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

TEST_P(BenchVerify, EveryKernelPasses) {
  const Adjacency adj = small_graph(device());
  for (const Op op : kOps)
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16})
      for (const bool weighted : {false, true}) {
        const Problem problem = make_problem(op, adj, dtype, op == Op::kSpmv ? 1 : 5, weighted);
        const Reference reference(problem);
        int ran = 0;
        for (const Kernel& kernel : select_kernels(op, {})) {
          if (kernel.peer) continue;
          if (const bench::Run run = kernel.prepare(problem)) verify(kernel, problem, run, reference), ++ran;
        }
        EXPECT_GT(ran, 0) << name(op) << " " << dtype;
      }
}

TEST_P(BenchVerify, AtomicSumsAreTimedWhereRowsAreSplit) {
  const Kernel atomic = select_kernels(Op::kSpmm, {"rode-atomic"}).front();
  const auto timed = [&](const std::vector<std::int64_t>& lengths) {
    const Adjacency adj = test::graph_with_lengths(lengths, 50).to(device());
    return static_cast<bool>(atomic.prepare(make_problem(Op::kSpmm, adj, DType::kF32, 5, false)));
  };
  EXPECT_FALSE(timed({3, 0, 40}));
  EXPECT_EQ(timed({3, 0, 4000}), device().is_cuda());
}

TEST_P(BenchVerify, OneWrongOrUnwrittenRowIsFound) {
  for (const Op op : kOps)
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      const Problem problem = make_problem(op, small_graph(device()), dtype, op == Op::kSpmv ? 1 : 5, true);
      const Reference reference(problem);
      const Kernel kernel = select_kernels(op, {}).front();
      const bench::Run right = kernel.prepare(problem);
      const auto last = [&](const Tensor& y) { return y.slice(y.dim(0) - 1, y.dim(0)); };
      for (const double value : {std::nan(""), 1000.0}) {
        const bench::Run wrong = [&] {
          const Tensor y = right();
          last(y).fill(value);
          return y;
        };
        const std::string text = test::error_of([&] { verify(kernel, problem, wrong, reference); });
        EXPECT_EQ(text.find(str("wrong result: ", name(op), " ", kernel.name, " ", dtype)), 0u) << text;
      }
      const bench::Run unwritten = [&] {
        const Tensor y = right(), out = Tensor::empty(y.shape(), y.dtype(), y.device());
        const std::int64_t but_one = y.dim(0) - 1;
        out.slice(0, but_one).copy_from(y.slice(0, but_one));
        return out;
      };
      EXPECT_THROW(verify(kernel, problem, unwritten, reference), WrongResult);
    }
}

TEST(BenchKernels, AFilterNamesAKernelOrAFamily) {
  EXPECT_EQ(select_kernels(Op::kSpmm, {"rode"}).front().name, "rode");
  EXPECT_TRUE(select_kernels(Op::kSpmm, {"ro"}).empty());
  for (const Kernel& kernel : select_kernels(Op::kSpmm, {"cusparse"})) EXPECT_TRUE(kernel.peer);
  EXPECT_EQ(select_kernels(Op::kSpmm, {"csr", "rode", "tca", "auto"}).size() +
                select_kernels(Op::kSpmm, {"cusparse"}).size(),
            select_kernels(Op::kSpmm, {}).size());
  EXPECT_EQ(select_kernels(Op::kSpmm, {"rode"}).size(), 2) << "rode and rode-atomic";
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
  return {graph, 1, 1, 1, Op::kSpmm, DType::kF32, false, 16, kernel, peer, ms, 1, 1, NAN, 0, NAN, NAN};
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
  EXPECT_NE(csv.str().find("\n\"a,\"\"b\"\"\",1,1,1,spmm,f32,0,16,rode,0,2,1,1,,0,,\n"), std::string::npos)
      << csv.str();
  write_json(report, json);
  EXPECT_NE(json.str().find("{\"graph\": \"a,\\\"b\\\"\", "), std::string::npos) << json.str();
  EXPECT_NE(json.str().find("\"vs_best\": null"), std::string::npos) << json.str();
}

}  // namespace
}  // namespace rodeo::bench
