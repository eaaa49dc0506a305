// Choices between forms of aggregation: kept in a file, and stable where times are close.
#include "ops/sparse/aggregation_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "ops/sparse/aggregation_choice.h"
#include "ops/sparse/cache_lines.h"
#include "tests/support/temp_dir.h"

namespace rodeo {
namespace {

using enum Aggregation;

TEST(OpsAggregationCache, KeepsWhatWasTimed) {
  const test::TempDir dir;
  const std::string folder = dir / "cache";
  const AggregationCache cache(folder), off("");
  const AggregationCache::Key one{7, "GPU, 2 ranks, sum of 16 columns, f32"}, other{7, "GPU, 4 ranks"};
  EXPECT_FALSE(cache.find(one));
  EXPECT_EQ(cache.keep(one, {kHalo, {{kRows, 2.5}, {kHalo, 0.125}}}), "");
  EXPECT_EQ(cache.keep(other, {kColumns}), "");
  const auto found = AggregationCache(folder).find(one);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->form, kHalo);
  EXPECT_EQ(found->timed, (std::map<Aggregation, double>{{kRows, 2.5}, {kHalo, 0.125}}));
  EXPECT_EQ(cache.find(other)->form, kColumns);
  EXPECT_FALSE(cache.find({8, one.product}));
  EXPECT_EQ(off.keep(one, {kRows}), "the cache folder is switched off");
  EXPECT_FALSE(off.find(one));

  const std::string file = std::filesystem::directory_iterator(folder)->path();
  for (const char* damaged :
       {"", "another header\n", "\t\t\t", "rodeo aggregation choices, format 1\n\t\n"}) {
    std::ofstream(file) << damaged;
    EXPECT_FALSE(cache.find(one)) << damaged;
  }
  EXPECT_EQ(cache.keep(one, {kRows}), "");
  EXPECT_EQ(cache.find(one)->form, kRows);
}

// "overlap" was a form before 0.3. Lines that name such a form are passed over, and replaced when it is timed
// again.
TEST(OpsAggregationCache, AKeyHasOneLine) {
  const test::TempDir dir;
  const std::string path = dir / "lines";
  const CacheLines lines(path, "values");
  for (const auto& [key, value] :
       {std::pair{"a", "1"}, {"a b", "2"}, {"a", "3"}, {"tab\tand\nline", "4"}, {"a b", "2"}})
    EXPECT_EQ(lines.keep(key, value), "");
  EXPECT_EQ(lines.find("a"), "3");
  EXPECT_EQ(lines.find("a b"), "2");
  EXPECT_EQ(lines.find("tab and line"), "4");
  EXPECT_FALSE(lines.find("a "));
  EXPECT_FALSE(CacheLines(path, "other values").find("a"));
  std::ifstream file(path);
  int count = 0;
  for (std::string line; std::getline(file, line);) ++count;
  EXPECT_EQ(count, 4) << "the header and a line for each key";
}

TEST(OpsAggregationCache, IgnoresAFormThatIsNoMore) {
  const test::TempDir dir;
  const std::string folder = dir / "cache";
  const AggregationCache cache(folder);
  const AggregationCache::Key chosen{7, "chosen"}, beside{7, "beside"}, other{7, "other"};
  for (const AggregationCache::Key& key : {chosen, beside, other})
    EXPECT_EQ(cache.keep(key, {kHalo, {{kRows, 2.5}, {kHalo, 0.125}}}), "");
  const std::string file = std::filesystem::directory_iterator(folder)->path();
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  std::string old = text.str();
  const auto rename = [&](const std::string& line, const std::string& from) {
    old.replace(old.find(from, old.find(line)), from.size() - 1, "overlap");
  };
  rename("\tchosen\t", "halo\t");  // was the fastest
  rename("\tbeside\t", "rows=");   // was slower than another one
  std::ofstream(file) << old;
  EXPECT_NE(old.find("overlap\trows=2.5 halo="), std::string::npos) << old;
  EXPECT_NE(old.find("halo\toverlap=2.5 halo="), std::string::npos) << old;
  EXPECT_FALSE(cache.find(chosen));
  EXPECT_FALSE(cache.find(beside));
  EXPECT_EQ(cache.find(other)->form, kHalo);
  EXPECT_EQ(cache.keep(chosen, {kRows}), "");
  EXPECT_EQ(cache.find(chosen)->form, kRows);
  EXPECT_EQ(cache.find(other)->form, kHalo);
}

TEST(OpsAggregationCache, NoiseDoesNotChangeAChoice) {
  EXPECT_EQ(clearly_fastest(kRows, {{kRows, 1.0}, {kHalo, 0.9}}), kRows);
  EXPECT_EQ(clearly_fastest(kRows, {{kRows, 1.15}, {kHalo, 1}}), kRows);
  EXPECT_EQ(clearly_fastest(kRows, {{kRows, 1.16}, {kHalo, 1}}), kHalo);
  EXPECT_EQ(clearly_fastest(kHalo, {{kRows, 0.9}, {kHalo, 1.0}}), kHalo);
  EXPECT_EQ(clearly_fastest(kRows, {{kRows, 1.0}, {kHalo, 0.8}, {kColumns, 0.6}}), kColumns);
}

}  // namespace
}  // namespace rodeo
