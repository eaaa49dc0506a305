#include "ops/spmm_tuner.h"

#include <cmath>
#include <map>

#include "ops/spmm.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

constexpr SpmmAlgorithm kCsr = SpmmAlgorithm::kCsr, kRode = SpmmAlgorithm::kRode,
                        kCusparse = SpmmAlgorithm::kCusparse;

std::vector<SpmmCandidate> timed(double rode, double csr, double cusparse) {
  std::vector<SpmmCandidate> candidates{{.algorithm = kRode}, {.algorithm = kCsr}, {.algorithm = kCusparse}};
  const double ms[] = {rode, csr, cusparse};
  for (int i = 0; i < 3; ++i) candidates[i].ms = ms[i];
  return candidates;
}

TEST(OpsSpmmTuner, TakesTheFirstOfEquals) {
  EXPECT_EQ(first_of_fastest(timed(1, 2, 3)), kRode);
  EXPECT_EQ(first_of_fastest(timed(1, 0.99, 0.985)), kRode);
  EXPECT_EQ(first_of_fastest(timed(1, 0.97, 0.98)), kCsr);
  EXPECT_EQ(first_of_fastest(timed(1, 0.96, 0.95)), kCsr) << "equal to cusparse, and before it";
  EXPECT_EQ(first_of_fastest(timed(1, 0.97, 0.95)), kCusparse);
  EXPECT_EQ(first_of_fastest(timed(1, NAN, 0.5)), kCusparse);
  EXPECT_EQ(first_of_fastest(timed(1, NAN, NAN)), kRode);
  EXPECT_EQ(first_of_fastest(timed(NAN, 2, NAN)), kCsr);
  EXPECT_EQ(first_of_fastest(timed(NAN, NAN, NAN)), kRode);
}

/// A device of which every run takes a known time, and a first one `first` more.
struct FakeDevice {
  std::map<SpmmAlgorithm, double> ms;
  double first = 0;
  std::map<SpmmAlgorithm, int> runs = {};
  double now = 0;

  SpmmChoice tune(std::vector<SpmmCandidate> candidates = timed(NAN, NAN, NAN)) {
    return choose_by_time(
        std::move(candidates),
        [&](SpmmAlgorithm algorithm, int count) {
          check(ms.at(algorithm) > 0, "out of memory");
          const double took = count * ms.at(algorithm) + (runs[algorithm] == 0 ? first : 0);
          runs[algorithm] += count;
          now += took;
          return took;
        },
        [&] { return now; });
  }
};

TEST(OpsSpmmTuner, TakesTheFastestWithinTheBudget) {
  FakeDevice device{{{kRode, 1}, {kCsr, 1.2}, {kCusparse, 0.5}}, 2};
  const SpmmChoice choice = device.tune();
  EXPECT_EQ(choice.algorithm, kCusparse);
  EXPECT_EQ(choice.source, SpmmChoice::Source::kMeasured);
  EXPECT_EQ(choice.reason, "2.00x as fast as rode");
  EXPECT_LE(device.now, SpmmTuning::kBudgetMs);
  EXPECT_EQ(choice.candidates[2].ms, 0.5) << "the first run does not count";
  EXPECT_GT(choice.candidates[0].runs, 2);
  EXPECT_EQ(choice.candidates[1].remark, "dropped");
  EXPECT_EQ(device.runs[kCsr], 3);
}

TEST(OpsSpmmTuner, ShortRunsAreTimedInBatches) {
  FakeDevice device{{{kRode, 0.01}, {kCsr, 0.0099}, {kCusparse, 0.02}}, 0.1};
  const SpmmChoice choice = device.tune();
  EXPECT_EQ(choice.algorithm, kRode);
  EXPECT_EQ(choice.reason, "nothing else is faster by 2 %");
  EXPECT_EQ(choice.candidates[0].runs, 1 + SpmmTuning::kSamples * SpmmTuning::kRunsOfASample);
}

TEST(OpsSpmmTuner, HugeProblemsAreNotTimed) {
  FakeDevice device{{{kRode, 250}, {kCsr, 1}, {kCusparse, 1}}, 5};
  SpmmChoice choice = device.tune();
  EXPECT_EQ(choice.algorithm, kRode);
  EXPECT_EQ(choice.source, SpmmChoice::Source::kRule);
  EXPECT_EQ(choice.reason, "no second run fits the 400 ms of tuning");
  EXPECT_EQ(device.runs[kRode], 1);
  EXPECT_EQ(device.runs[kCsr] + device.runs[kCusparse], 0);

  device = {{{kRode, 150}, {kCsr, 1}, {kCusparse, 1}}};  // two runs fit, a third of unknown length does not
  choice = device.tune();
  EXPECT_EQ(choice.source, SpmmChoice::Source::kRule);
  EXPECT_EQ(choice.reason, "nothing else could be timed");
  EXPECT_EQ(choice.candidates[1].remark, "not timed: 100.0 ms are left");
  EXPECT_LE(device.now, SpmmTuning::kMostMs);
}

TEST(OpsSpmmTuner, ACandidateOfUnknownLengthNeedsTheReserve) {
  FakeDevice device{{{kRode, 88}, {kCsr, 20}, {kCusparse, 20}}};  // 224 ms are left, 2.5 x 88 = 220
  EXPECT_EQ(device.tune().algorithm, kCsr);
  device = {{{kRode, 89}, {kCsr, 20}, {kCusparse, 20}}};  // 222 ms, 2.5 x 89 = 222.5
  EXPECT_EQ(device.tune().candidates[1].remark, "not timed: 222.0 ms are left");
  EXPECT_EQ(device.runs[kCsr], 0);
}

TEST(OpsSpmmTuner, LongProductsHaveALongerBudget) {
  FakeDevice device{{{kRode, 12}, {kCsr, 17}, {kCusparse, 11}}, 2};
  const SpmmChoice choice = device.tune();
  EXPECT_EQ(choice.algorithm, kCusparse) << choice;
  EXPECT_GT(device.now, SpmmTuning::kBudgetMs);
  EXPECT_LE(device.now, SpmmTuning::kBudgetRuns * 12);
}

TEST(OpsSpmmTuner, ASlowFirstRunEndsACandidate) {
  FakeDevice device{{{kRode, 1}, {kCsr, 40}, {kCusparse, 0.5}}};
  const SpmmChoice choice = device.tune();
  EXPECT_EQ(choice.candidates[1].remark, "40.0 ms for the first run: no time for a second");
  EXPECT_EQ(device.runs[kCsr], 1);
  EXPECT_EQ(choice.algorithm, kCusparse);
  EXPECT_LE(device.now, SpmmTuning::kBudgetMs);
}

TEST(OpsSpmmTuner, WhatIsKnownToBeHopelessIsNotRun) {
  FakeDevice device{{{kRode, 1}, {kCsr, 500}, {kCusparse, 2}}};
  std::vector<SpmmCandidate> candidates = timed(NAN, NAN, NAN);
  candidates[1].at_least_ms = 200;
  candidates[2].remark = "takes at most 2^31 - 1 edges";
  const SpmmChoice choice = device.tune(candidates);
  EXPECT_EQ(device.runs[kCsr] + device.runs[kCusparse], 0);
  EXPECT_EQ(str(choice),
            "rode, by rule: nothing else could be timed (2.0 ms of tuning)\n"
            "  rode         1.0000 ms, 1 run\n"
            "  csr       takes 200.000 ms at least, by its longest row\n"
            "  cusparse  takes at most 2^31 - 1 edges\n");
}

// Those behind a candidate that is not run are.
TEST(OpsSpmmTuner, TheOthersAreStillTimed) {
  std::vector<SpmmCandidate> candidates = timed(NAN, NAN, NAN);
  candidates[1].at_least_ms = 200;
  FakeDevice hopeless{{{kRode, 1}, {kCsr, 500}, {kCusparse, 0.5}}};
  EXPECT_EQ(hopeless.tune(candidates).algorithm, kCusparse);
  candidates[1] = {kCsr};
  candidates[1].remark = "takes at most 2^31 - 1 edges";
  FakeDevice refused{{{kRode, 1}, {kCsr, 500}, {kCusparse, 0.5}}};
  EXPECT_EQ(refused.tune(candidates).algorithm, kCusparse);
  FakeDevice failing{{{kRode, 1}, {kCsr, 0}, {kCusparse, 0.5}}};
  EXPECT_EQ(failing.tune().algorithm, kCusparse);
}

TEST(OpsSpmmTuner, AnErrorTakesACandidateOut) {
  FakeDevice device{{{kRode, 1}, {kCsr, 0.5}, {kCusparse, 0}}};
  const SpmmChoice choice = device.tune();
  EXPECT_EQ(choice.algorithm, kCsr);
  EXPECT_EQ(choice.candidates[2].remark, "out of memory");
  device.ms[kRode] = 0;
  EXPECT_ERROR(device.tune(), "out of memory");  // the usual choice must run
}

TEST(OpsSpmmTuner, OnTheCpuRowLengthsDecide) {
  EXPECT_EQ(spmm_rule(graph_with_lengths({5, 0, 3}, 9)), kCsr);
  std::vector<std::int64_t> lengths(1000, 200);
  EXPECT_EQ(spmm_rule(graph_with_lengths(lengths, 100)), kCsr);
  lengths[3] = 50000;
  EXPECT_EQ(spmm_rule(graph_with_lengths(lengths, 100)), kRode);
  EXPECT_EQ(spmm_rule(graph_with_lengths({50000}, 100)), kCsr) << "too small for a difference";
}

TEST(OpsSpmmTuner, ExplainsWhatWasAsked) {
  const Adjacency adj = graph_with_lengths({5, 0, 3}, 4);
  EXPECT_EQ(explain_spmm(adj), "");
  const Tensor x = Tensor::zeros({4, 3});
  spmm(adj, x, {kRode});
  EXPECT_EQ(explain_spmm(adj), "");
  spmm(adj, x);
  spmm(adj, Tensor::zeros({8}, DType::kF64), x.to(DType::kF64));
  EXPECT_EQ(explain_spmm(adj),
            "n=3 f64 weighted: csr, by rule: on the CPU, from the row lengths\n"
            "n=3 f32 unweighted: csr, by rule: on the CPU, from the row lengths\n");
}

TEST(OpsSpmmTuner, AutoIsTheChosenAlgorithmBitForBit) {
  std::vector<std::int64_t> lengths(3000, 30);
  lengths[7] = 90000;
  for (const Device device : {kCpu, cuda_device()}) {
    if (device.is_cuda() && cuda_device_count() == 0) continue;
    const Adjacency adj = graph_with_lengths(lengths, 2000).to(device);
    const Tensor x = random_tensor({2000, 16}, DType::kF32, device);
    const Tensor y = spmm(adj, x);
    const std::string told = explain_spmm(adj), start = "n=16 f32 unweighted: ";
    ASSERT_TRUE(told.starts_with(start)) << told;
    const std::string chosen = told.substr(start.size(), told.find(',') - start.size());
    EXPECT_TRUE(same_bits(y, spmm(adj, x, {parse_spmm_algorithm(chosen)}))) << told;
  }
}

}  // namespace
}  // namespace rodeo::test
