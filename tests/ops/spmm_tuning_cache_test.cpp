#include "ops/sparse/tuning_cache.h"

#include <fstream>
#include <map>
#include <sstream>

#include "core/random.h"
#include "ops/graph_hash.h"
#include "ops/spmm.h"
#include "ops/spmm_tuner.h"
#include "ops/spmm_variant.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/temp_dir.h"

namespace rodeo::test {
namespace {

constexpr SpmmAlgorithm kCsr = SpmmAlgorithm::kCsr, kRode = SpmmAlgorithm::kRode,
                        kCusparse = SpmmAlgorithm::kCusparse;

SpmmTuningCache::Key key(std::int64_t n, std::uint64_t graph = 0xabc) {
  return {graph, "A GPU", {.n = n, .dtype = DType::kF32, .weighted = false}};
}

SpmmTuningCache::Entry entry(SpmmAlgorithm algorithm) {
  return {algorithm, {{.algorithm = kRode, .ms = 0.94625}, {.algorithm = kCsr, .ms = 1.5}}};
}

std::string contents(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

TEST(OpsSpmmStore, AFileBringsEveryChoiceBack) {
  const TempDir folder;
  SpmmTuningCache first(folder / "deep/er");
  EXPECT_FALSE(first.find(key(16)));
  first.keep(key(16), entry(kCsr));
  first.keep(key(32), {kRode, {}});
  EXPECT_EQ(first.complaint(), "");
  EXPECT_EQ(first.file(0xabc), (folder / "deep/er") + "/spmm-0000000000000abc.txt");

  SpmmTuningCache second(folder / "deep/er");
  const auto found = second.find(key(16));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->algorithm, kCsr);
  ASSERT_EQ(found->candidates.size(), 2u);
  EXPECT_EQ(found->candidates[0].algorithm, kRode);
  EXPECT_EQ(found->candidates[0].ms, 0.94625);
  ASSERT_TRUE(second.find(key(32)));
  EXPECT_EQ(second.find(key(32))->algorithm, kRode);
}

TEST(OpsSpmmStore, AChoiceIsForOneKeyAlone) {
  const TempDir folder;
  SpmmTuningCache store(folder / "");
  store.keep(key(16), entry(kCsr));
  EXPECT_FALSE(store.find(key(17)));
  EXPECT_FALSE(store.find(key(16, 0xabd)));
  SpmmTuningCache::Key other = key(16);
  other.device = "Another GPU";
  EXPECT_FALSE(store.find(other));
  other = key(16);
  other.problem.dtype = DType::kBF16;
  EXPECT_FALSE(store.find(other));
  other = key(16);
  other.problem.weighted = true;
  EXPECT_FALSE(store.find(other));
  other = key(16);
  other.problem.allow_nondeterministic = true;
  EXPECT_FALSE(store.find(other));
}

TEST(OpsSpmmStore, TheFirstToKeepWins) {
  const TempDir folder;
  SpmmTuningCache one(folder / ""), two(folder / "");
  EXPECT_FALSE(one.find(key(16)));
  EXPECT_FALSE(two.find(key(16)));
  EXPECT_EQ(one.keep(key(16), entry(kCsr)).algorithm, kCsr);
  EXPECT_EQ(two.keep(key(16), entry(kCusparse)).algorithm, kCsr);
  two.keep(key(64), entry(kCusparse));  // keeps what the other wrote
  SpmmTuningCache three(folder / "");
  EXPECT_EQ(three.find(key(16))->algorithm, kCsr);
  EXPECT_EQ(three.find(key(64))->algorithm, kCusparse);
}

TEST(OpsSpmmStore, DamagedFilesAreAsIfAbsent) {
  const TempDir folder;
  SpmmTuningCache writer(folder / "");
  writer.keep(key(16), entry(kCsr));
  const std::string path = writer.file(0xabc), good = contents(path), line = good.substr(good.find('\n') + 1);
  const auto replaced = [](std::string text, const std::string& what, const std::string& by) {
    return text.replace(text.find(what), what.size(), by);
  };
  std::string noise;
  for (std::uint64_t i = 0; i < 5000; ++i) noise += static_cast<char>(random_word(1, 2, i));
  for (const std::string& damaged :
       {std::string(), std::string("\n\n"), noise, replaced(good, "format 1", "format 2"),
        replaced(good, "\tcsr\t", "\tabacus\t"), replaced(good, "\tcsr\t", "\tauto\t"),
        replaced(good, "rode=", "rode:"), replaced(good, "1.5", "1.5x"), replaced(good, "1.5", "-1"),
        replaced(good, "1.5", "nan"), good.substr(0, good.find("\tcsr")), "x" + good,
        replaced(good, "A GPU\t16", "16")}) {
    std::ofstream(path) << damaged;
    SpmmTuningCache store(folder / "");
    EXPECT_FALSE(store.find(key(16))) << damaged;
    store.keep(key(16), entry(kCsr));
    EXPECT_EQ(store.complaint(), "");
    EXPECT_EQ(SpmmTuningCache(folder / "").find(key(16))->algorithm, kCsr) << damaged;
  }
  std::ofstream(path) << good.substr(0, good.find('\n') + 1) << "torn line\n" << line;
  EXPECT_TRUE(SpmmTuningCache(folder / "").find(key(16))) << "a good line counts beside a bad one";
  EXPECT_EQ(folder.size(), 1u) << "no temporary file is left";
}

TEST(OpsSpmmStore, WithoutAFolderMemoryServes) {
  SpmmTuningCache off("");
  EXPECT_EQ(off.file(1), "");
  off.keep(key(16), entry(kCsr));
  EXPECT_EQ(off.complaint(), "the cache folder is switched off");
  EXPECT_TRUE(off.find(key(16)));

  const TempDir folder;
  std::ofstream(folder / "file") << "not a folder";
  SpmmTuningCache blocked(folder / "file");
  blocked.keep(key(16), entry(kCsr));
  EXPECT_NE(blocked.complaint().find("cannot be written"), std::string::npos) << blocked.complaint();
  EXPECT_TRUE(blocked.find(key(16)));
}

class OpsGraphHash : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsGraphHash);

TEST_P(OpsGraphHash, TellsGraphsApartOnEveryDevice) {
  std::map<std::uint64_t, std::string> seen;
  for (const SparseCase& sparse_case : sparse_cases()) {
    const Adjacency host = sparse_case.make();
    const std::uint64_t hash = graph_hash(host.to(device()));
    EXPECT_EQ(hash, graph_hash(host)) << sparse_case.name;
    EXPECT_TRUE(seen.emplace(hash, sparse_case.name).second) << sparse_case.name << " and " << seen[hash];
  }
  const auto hash_of = [&](std::vector<std::int64_t> row_ptr, std::vector<std::int32_t> col,
                           std::int64_t cols) {
    return graph_hash(Adjacency({static_cast<std::int64_t>(row_ptr.size()) - 1, cols, Tensor::from(row_ptr),
                                 Tensor::from(col)})
                          .to(device()));
  };
  const std::uint64_t hash = hash_of({0, 2, 3}, {0, 1, 2}, 3);
  EXPECT_EQ(hash, hash_of({0, 2, 3}, {0, 1, 2}, 3));
  EXPECT_NE(hash, hash_of({0, 2, 3}, {1, 0, 2}, 3)) << "the order counts";
  EXPECT_NE(hash, hash_of({0, 1, 3}, {0, 1, 2}, 3));
  EXPECT_NE(hash, hash_of({0, 2, 3}, {0, 1, 2}, 4));
}

class OpsSpmmTunerOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device: " << cuda_absence_reason();
    for (const SpmmAlgorithm algorithm : {kRode, kCsr, kCusparse})  // what a process loads once
      spmm(adj_, x_, {algorithm});
  }
  Adjacency fresh() const { return graph_with_lengths(lengths(), 20000).to(cuda_device()); }
  /// 20,000 rows of 0 to 199 nonzeros.
  static std::vector<std::int64_t> lengths() {
    std::vector<std::int64_t> lengths(20000);
    for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = random_word(5, 1, i) % 200;
    return lengths;
  }
  SpmmAlgorithm choose(const Adjacency& adj, SpmmTuningCache& store) {
    return choose_spmm(
        adj, {.n = x_.dim(1), .dtype = x_.dtype(), .weighted = false},
        [&](SpmmAlgorithm algorithm) {
          ++runs_;
          spmm(adj, x_, {algorithm});
        },
        store);
  }
  Adjacency adj_ = cuda_device_count() ? fresh() : Adjacency();
  Tensor x_ = cuda_device_count() ? random_tensor({20000, 64}, DType::kF32, cuda_device()) : Tensor();
  int runs_ = 0;
};

TEST_F(OpsSpmmTunerOnGpu, AGraphIsTimedOnce) {
  SpmmTuningCache store("");
  const SpmmAlgorithm chosen = choose(adj_, store);
  EXPECT_GT(runs_, 3);
  runs_ = 0;
  EXPECT_EQ(choose(adj_, store), chosen);
  EXPECT_EQ(runs_, 0);
  const std::string told = explain_spmm(adj_);
  EXPECT_NE(told.find("n=64 f32 unweighted: "), std::string::npos) << told;
  EXPECT_NE(told.find(", measured: "), std::string::npos) << told;
  EXPECT_NE(told.find("  cusparse"), std::string::npos) << told;
  EXPECT_NE(told.find("the cache folder is switched off"), std::string::npos) << told;

  const Adjacency equal = fresh();
  EXPECT_EQ(choose(equal, store), chosen) << "an equal graph in the same process";
  EXPECT_EQ(runs_, 0);
}

TEST_F(OpsSpmmTunerOnGpu, ALaterRunFindsTheFile) {
  const TempDir folder;
  SpmmTuningCache first(folder / "");
  const SpmmAlgorithm chosen = choose(adj_, first);
  EXPECT_EQ(folder.size(), 1u);
  runs_ = 0;
  SpmmTuningCache second(folder / "");
  const Adjacency equal = fresh();
  EXPECT_EQ(choose(equal, second), chosen);
  EXPECT_EQ(runs_, 0);
  EXPECT_NE(explain_spmm(equal).find(", remembered: as tuned before"), std::string::npos)
      << explain_spmm(equal);

  // What the file says counts, where it can be done.
  for (const SpmmAlgorithm other : {kCsr, kRode}) {
    const TempDir elsewhere;
    SpmmTuningCache writer(elsewhere / ""), reader(elsewhere / "");
    writer.keep({graph_hash(adj_), describe(cuda_device()), {.n = 64}}, {other, {}});
    EXPECT_EQ(choose(fresh(), reader), other);
  }
}

TEST_F(OpsSpmmTunerOnGpu, KeepsToItsBudget) {
  SpmmTuningCache store("");
  const Adjacency adj = fresh();
  choose(adj, store);
  // The tuner's own count: the clock on the wall also counts other programs on the GPU.
  const std::string text = explain_spmm(adj);
  const std::size_t begin = text.rfind('(', text.find(" ms of tuning"));
  ASSERT_NE(begin, std::string::npos) << text;
  EXPECT_LT(std::stod(text.substr(begin + 1)), SpmmTuning::kBudgetMs + 25) << text;
}

TEST_F(OpsSpmmTunerOnGpu, ASmallGraphIsNotTimed) {
  SpmmTuningCache store("");
  const Adjacency small = graph_with_lengths({3, 4}, 20000).to(cuda_device());
  EXPECT_EQ(choose(small, store), kRode);
  EXPECT_EQ(runs_, 0);
  EXPECT_EQ(explain_spmm(small),
            str("n=64 f32 unweighted: rode, by rule: too small for a difference\n  runs ",
                spmm_variant(small, {.n = 64}), "\n"));
}

}  // namespace
}  // namespace rodeo::test
