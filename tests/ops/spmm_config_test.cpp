#include "ops/plan/spmm_config.h"

#include <gtest/gtest.h>

#include <sstream>

#include "ops/plan/spmm_cases.h"
#include "tests/ops/gpus.h"

namespace rodeo::test {
namespace {

std::string text(const SpmmConfig& config) {
  std::ostringstream out;
  out << config;
  return out.str();
}

struct Graph {
  std::int64_t rows, edges;
  RodeSizes plan;
};

// Nodes and edges of real graphs; the plan's counts are of the right order.
constexpr Graph kKarate{34, 156, {0, 34, 9}};
constexpr Graph kCora{2708, 10556, {2, 2706, 697}};
constexpr Graph kCiteseer{3327, 9104, {2, 3325, 842}};
constexpr Graph kPubmed{19717, 88648, {224, 19493, 5100}};
constexpr Graph kArxiv{169343, 2315598, {11000, 160000, 50000}};
constexpr Graph kReddit{232965, 114615892, {300000, 20000, 6000}};

SpmmSizes sizes(const Graph& graph, std::int64_t k, std::size_t element_bytes = 4,
                Weighting weighting = Weighting::kNone, std::int64_t heads = 1) {
  return {.rows = graph.rows,
          .cols = graph.rows,
          .edges = graph.edges,
          .heads = heads,
          .k = k,
          .element_bytes = element_bytes,
          .weighting = weighting};
}

TEST(OpsSpmmConfig, RodeOnH200) {
  struct Case {
    Graph graph;
    std::int64_t k;
    std::size_t element_bytes;
    const char* expected;
  };
  const Case cases[] = {
      {kKarate, 16, 4, "tiny"},
      {kKarate, 7, 4, "tiny"},
      {kCora, 7, 4, "teams: 1 tile of 8 lanes x 1 element load"},
      {kCora, 16, 4, "teams: 1 tile of 4 lanes x 1 load"},
      {kCora, 32, 4, "teams: 1 tile of 8 lanes x 1 load"},
      {kCora, 41, 4, "teams: 6 tiles of 8 lanes x 1 element load"},
      {kCora, 128, 4, "teams: 2 tiles of 8 lanes x 2 ragged loads"},
      {kCora, 48, 4, "teams: 1 tile of 8 lanes x 2 ragged loads"},
      {kCiteseer, 100, 2, "x padded to 112 columns; teams: 1 tile of 8 lanes x 2 ragged loads"},
      {kPubmed, 32, 4, "teams: 1 tile of 8 lanes x 1 load"},
      {kPubmed, 41, 4, "teams: 1 tile of 8 lanes x 6 ragged element loads"},
      {kArxiv, 16, 4, "warps: 1 tile of 4 lanes x 1 load, 2 rounds"},
      {kArxiv, 40, 4, "warps: 1 tile of 8 lanes x 2 ragged loads, 4 rounds"},
      {kArxiv, 76, 4,
       "warps: 1 tile of 8 lanes x 2 loads, 4 rounds; warps: 1 tile of 4 lanes x 1 load, 2 rounds"},
      {kArxiv, 41, 4, "warps: 1 tile of 8 lanes x 6 ragged element loads, 4 rounds"},
      {kArxiv, 7, 4, "warps: 1 tile of 8 lanes x 1 element load, 4 rounds"},
      {kArxiv, 100, 4, "warps: 2 tiles of 8 lanes x 2 ragged loads, 4 rounds"},
      {kArxiv, 602, 4,
       "x padded to 608 columns; warps: 9 tiles of 8 lanes x 2 loads, 4 rounds; "
       "warps: 1 tile of 8 lanes x 1 load, 4 rounds"},
      {kReddit, 41, 4, "x padded to 48 columns; warps: 1 tile of 8 lanes x 2 ragged loads"},
      {kReddit, 64, 4, "warps: 2 tiles of 8 lanes x 1 load"},
      {kReddit, 128, 2, "warps: 2 tiles of 8 lanes x 1 load"},
      {kArxiv, 41, 8, "x padded to 44 columns; warps: 3 tiles of 8 lanes x 1 load, 4 rounds"},
      {kCora, 16, 8, "warps: 1 tile of 8 lanes x 1 load"},
  };
  for (const Case& c : cases)
    EXPECT_EQ(text(choose_rode_config(sizes(c.graph, c.k, c.element_bytes), c.graph.plan, kH200)), c.expected)
        << c.graph.rows << " rows, " << c.k << " columns of " << c.element_bytes << " bytes";
}

TEST(OpsSpmmConfig, TinyOperandsFitSixteenKibibytes) {
  // 15184 bytes of X, 400 of columns, 800 of row pointers.
  SpmmSizes s{.rows = 99, .cols = 949, .edges = 100, .k = 4};
  EXPECT_EQ(text(choose_rode_config(s, {0, 99, 25}, kH200)), "tiny");
  s.edges = 101;
  EXPECT_NE(text(choose_rode_config(s, {0, 99, 25}, kH200)), "tiny");
}

TEST(OpsSpmmConfig, RodeOnLargeMeshesHasWideTiles) {
  constexpr Graph kMesh{1'000'000, 26'463'592, {0, 1'000'000, 250'000}};
  RodeSizes plan = kMesh.plan;
  EXPECT_EQ(text(choose_rode_config(sizes(kMesh, 64), plan, kH200)),
            "warps: 2 tiles of 8 lanes x 1 load, 4 rounds");
  plan.local_rows = true;
  EXPECT_EQ(text(choose_rode_config(sizes(kMesh, 64), plan, kH200)),
            "warps: 1 tile of 8 lanes x 2 loads, 4 rounds");
}

TEST(OpsSpmmConfig, Csr) {
  struct Case {
    std::int64_t k;
    std::size_t element_bytes;
    const char *scattered, *local;
  };
  const Case cases[] = {
      {1, 4, "x padded to 4 columns; csr: 1 tile of 4 lanes x 1 load",
       "x padded to 4 columns; csr: 1 tile of 4 lanes x 1 load"},
      {16, 4, "csr: 1 tile of 4 lanes x 1 load", "csr: 1 tile of 4 lanes x 1 load"},
      {32, 4, "csr: 1 tile of 8 lanes x 1 load", "csr: 1 tile of 8 lanes x 1 load"},
      {48, 4, "csr: 1 tile of 8 lanes x 1 load; csr: 1 tile of 4 lanes x 1 load",
       "csr: 1 tile of 8 lanes x 2 ragged loads"},
      {64, 4, "csr: 2 tiles of 8 lanes x 1 load", "csr: 1 tile of 8 lanes x 2 loads"},
      {96, 4, "csr: 3 tiles of 8 lanes x 1 load", "csr: 1 tile of 16 lanes x 2 ragged loads"},
      {128, 4, "csr: 4 tiles of 8 lanes x 1 load", "csr: 1 tile of 16 lanes x 2 loads"},
      {192, 4, "csr: 6 tiles of 8 lanes x 1 load",
       "csr: 1 tile of 16 lanes x 2 loads; csr: 1 tile of 8 lanes x 2 loads"},
      {256, 4, "csr: 8 tiles of 8 lanes x 1 load", "csr: 2 tiles of 16 lanes x 2 loads"},
      {256, 2, "csr: 4 tiles of 8 lanes x 1 load", "csr: 1 tile of 16 lanes x 2 loads"},
      {264, 4, "csr: 8 tiles of 8 lanes x 1 load; csr: 1 tile of 4 lanes x 1 load",
       "csr: 2 tiles of 16 lanes x 2 loads; csr: 1 tile of 4 lanes x 1 load"},
      {64, 8, "csr: 4 tiles of 8 lanes x 1 load", "csr: 4 tiles of 8 lanes x 1 load"},
  };
  for (const Case& c : cases) {
    SpmmSizes s = sizes(kArxiv, c.k, c.element_bytes);
    EXPECT_EQ(text(choose_csr_config(s)), c.scattered) << c.k << " columns of " << c.element_bytes;
    s.local_rows = true;
    EXPECT_EQ(text(choose_csr_config(s)), c.local) << c.k << " columns of " << c.element_bytes;
  }
  SpmmSizes heads = sizes(kArxiv, 16, 4, Weighting::kPerHead, 8);
  heads.local_rows = true;
  EXPECT_EQ(text(choose_csr_config(heads)), "csr: 4 tiles of 8 lanes x 1 load");
}

TEST(OpsSpmmConfig, RowsThatAreNoWholeLoadsAreCopiedWhereManyEdgesReadThem) {
  struct Case {
    std::int64_t cols, edges, k;
    std::size_t element_bytes;
    bool copies;
  };
  for (const Case& c : {Case{100'000, 5'599'999, 41, 4, false},
                        {100'000, 5'600'000, 41, 4, true},
                        {16'384, 524'287, 41, 2, false},
                        {16'384, 524'288, 41, 2, true},
                        {16'385, 524'288, 41, 2, false},
                        {100'000, 524'289, 41, 2, true},
                        {100'000, 524'289, 7, 4, false},
                        {100'000, 524'289, 9, 4, true},
                        {100'000, 524'288, 9, 4, false},
                        {100'000, 600'000, 47, 4, false},
                        {100'000, 600'000, 49, 4, true}}) {
    const Graph graph{c.cols, c.edges, {11000, 160000, 50000}};
    EXPECT_EQ(choose_rode_config(sizes(graph, c.k, c.element_bytes), graph.plan, kH200).copies_x, c.copies)
        << c.edges << " edges, " << c.k << " columns of " << c.element_bytes;
  }
}

TEST(OpsSpmmConfig, SmallerGpusUseTeamsForSmallerGraphs) {
  constexpr Graph graph{12000, 40000, {0, 12000, 3000}};  // 750 blocks of 128 threads
  EXPECT_EQ(choose_rode_config(sizes(graph, 32), graph.plan, kH200).launches()[0].kernel, SpmmKernel::kTeams);
  EXPECT_EQ(choose_rode_config(sizes(graph, 32), graph.plan, kA100).launches()[0].kernel, SpmmKernel::kWarps);
}

TEST(OpsSpmmConfig, RoundsFollowTheResidentWarps) {
  EXPECT_EQ(rounds_for(1, 4, kH200), 1);
  EXPECT_EQ(rounds_for(2 * 64 * 132 - 1, 4, kH200), 1);
  EXPECT_EQ(rounds_for(2 * 64 * 132, 4, kH200), 2);
  EXPECT_EQ(rounds_for(1'000'000, 4, kH200), 4);
  EXPECT_EQ(rounds_for(2 * 48 * 128, 4, kRtx4090), 2);
}

TEST(OpsSpmmConfig, PaddedRowsAreWholeSectors) {
  EXPECT_EQ(padded_pitch(7, 1, 4), 8);
  EXPECT_EQ(padded_pitch(3, 1, 4), 4);
  EXPECT_EQ(padded_pitch(4, 1, 4), 4) << "16 bytes are one load";
  EXPECT_EQ(padded_pitch(5, 1, 4), 8);
  EXPECT_EQ(padded_pitch(8, 1, 2), 8);
  EXPECT_EQ(padded_pitch(9, 1, 2), 16);
  EXPECT_EQ(padded_pitch(2, 1, 8), 2);
  EXPECT_EQ(padded_pitch(9, 2, 4), 12) << "heads are padded to loads alone";
  EXPECT_EQ(padded_pitch(41, 1, 4), 48);
  EXPECT_EQ(padded_pitch(41, 8, 4), 44);
  EXPECT_EQ(padded_pitch(41, 1, 2), 48);
  EXPECT_EQ(padded_pitch(41, 1, 8), 44);
  EXPECT_EQ(padded_pitch(602, 1, 4), 608);
}

/// The tiles cover all columns once, and their kernels are compiled.
void expect_covers(const SpmmConfig& config, const SpmmSizes& s) {
  ASSERT_GT(config.num_launches, 0) << config;
  EXPECT_GE(config.pitch, s.k);
  std::int64_t next = 0;
  for (const SpmmLaunch& l : config.launches()) {
    if (l.kernel == SpmmKernel::kTiny) return;
    EXPECT_TRUE(is_instantiated(l.kernel, l.tile, s.weighting, s.element_bytes)) << config;
    EXPECT_EQ(l.first_column, next) << config;
    next += l.tiles * l.tile.columns(s.element_bytes);
    EXPECT_GE(l.rounds, 1);
    if (!l.tile.by_elements) {
      EXPECT_EQ(config.pitch * static_cast<std::int64_t>(s.element_bytes) % 16, 0);
    }
    // A load before the last one begins within the row; in a ragged tile of two, both may be past the end.
    if (l.tile.loads > 2) {
      EXPECT_GT(s.heads * config.pitch, l.tile.columns(s.element_bytes) * (l.tile.loads - 1) / l.tile.loads);
    }
    if (!l.tile.ragged && l.tile.loads > 1) {
      EXPECT_LE(next, s.heads * config.pitch) << config;
    }
  }
  EXPECT_GE(next, s.heads * config.pitch) << config;
}

TEST(OpsSpmmConfig, EveryChoiceIsCompiledAndCoversAllColumns) {
  for (const Graph& graph : {kKarate, kCora, kCiteseer, kPubmed, kArxiv, kReddit})
    for (const DeviceProperties& gpu : {kH200, kA100, kRtx4090})
      for (const std::size_t bytes : {2, 4, 8})
        for (const auto& [weighting, heads] :
             {std::pair{Weighting::kNone, 1}, {Weighting::kPerEdge, 1}, {Weighting::kPerHead, 3}})
          for (const bool aligned : {true, false})
            for (std::int64_t k = 1; k <= 300; ++k) {
              SpmmSizes s = sizes(graph, k, bytes, weighting, heads);
              s.x_is_aligned = aligned;
              expect_covers(choose_rode_config(s, graph.plan, gpu), s);
              expect_covers(choose_csr_config(s), s);
              s.local_rows = true;
              expect_covers(choose_csr_config(s), s);
              RodeSizes local = graph.plan;
              local.local_rows = true;
              expect_covers(choose_rode_config(s, local, gpu), s);
              if (bytes <= 4 && weighting != Weighting::kPerHead)
                expect_covers(choose_rode_tc_config(s, graph.plan, gpu), s);
              if (::testing::Test::HasFailure()) return;
            }
}

TEST(OpsSpmmConfig, CasesAreListedOnce) {
  int cases = 0;
  for (const SpmmCase& a : kSpmmCases)
    for (const SpmmCase& b : kSpmmCases) {
      if (&a == &b) continue;
      EXPECT_FALSE(a.tile == b.tile && (a.kernels & b.kernels) != 0 && (a.weightings & b.weightings) != 0)
          << "tile of " << a.tile;
      ++cases;
    }
  EXPECT_GT(cases, 0);
}

}  // namespace
}  // namespace rodeo::test
