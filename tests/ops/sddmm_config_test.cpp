#include "ops/plan/sddmm_config.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/ops/gpus.h"

namespace rodeo::test {
namespace {

template <class T>
std::string text(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

SddmmSizes sizes(std::int64_t rows, std::int64_t edges, std::int64_t heads, std::int64_t k,
                 std::size_t element_bytes = 4) {
  return {.rows = rows,
          .cols = rows,
          .edges = edges,
          .heads = heads,
          .k = k,
          .element_bytes = element_bytes,
          .pitch = k};
}

/// What sddmm_rule takes.
SddmmConfig by_rule(const SddmmSizes& s, const DeviceProperties& gpu = kH200) {
  return choose_sddmm_config(s, choose_sddmm_algorithm(s), gpu);
}

TEST(OpsSddmmConfig, OrderAndSlicesOnH200) {
  const std::pair<SddmmSizes, const char*> cases[] = {
      {sizes(2708, 10556, 1, 64), "edges, 16 chunks"},
      {sizes(169343, 2315598, 1, 64), "edges, 16 chunks"},
      {sizes(169343, 2315598, 1, 128), "edges, 32 chunks in slices of 16"},
      {sizes(169343, 2315598, 1, 128, 2), "edges, 16 chunks"},
      {sizes(169343, 2315598, 8, 64), "edges, 16 chunks"},
      {sizes(232965, 114615892, 1, 128), "rows, 32 chunks in slices of 16"},
      {sizes(2449029, 123718280, 1, 128), "rows, 32 chunks"},
      {sizes(2708, 10556, 1, 602), "edges, 151 chunks in slices of 76"},
      {sizes(2708, 10556, 1, 64, 8), "rows, 32 chunks"},
  };
  for (const auto& [s, expected] : cases)
    EXPECT_EQ(text(by_rule(s)), expected) << s.rows << " rows, " << s.k << " columns";
  SddmmSizes unaligned = sizes(2708, 10556, 1, 41);
  unaligned.b1_is_aligned = false;
  EXPECT_EQ(text(by_rule(unaligned)), "rows, 11 chunks");
}

TEST(OpsSddmmConfig, SlicesBeginWhereTheL2DoesNotHoldAMatrix) {
  const auto cols = static_cast<std::int64_t>(kH200.l2_bytes) / 512;  // rows of 128 columns
  EXPECT_FALSE(by_rule(sizes(cols, 4 * cols, 1, 128)).has_slices());
  EXPECT_EQ(by_rule(sizes(cols + 1, 4 * cols, 1, 128)).slice_chunks, 16);
}

TEST(OpsSddmmConfig, AnAlgorithmIsTakenAsGiven) {
  for (const std::size_t element : {8, 4, 2})
    for (const std::int64_t edges : {10'000, 10'000'000}) {
      const SddmmSizes s = sizes(100'000, edges, 1, 64, element);
      for (const SddmmAlgorithm algorithm : {SddmmAlgorithm::kRows, SddmmAlgorithm::kEdges})
        EXPECT_EQ(choose_sddmm_config(s, algorithm, kH200).algorithm, algorithm) << element << " " << edges;
    }
}

TEST(OpsSddmmConfig, RowsWhereGathersHitTheL1) {
  const auto algorithm = [](const SddmmSizes& s) { return by_rule(s).algorithm; };
  constexpr SddmmAlgorithm kRows = SddmmAlgorithm::kRows, kEdges = SddmmAlgorithm::kEdges;
  SddmmSizes random = sizes(1'000'000, 32'000'000, 1, 16), clustered = random, mesh = random;
  clustered.has_clusters = true;
  mesh.reuse = 0.65;
  EXPECT_EQ(algorithm(random), kEdges);
  EXPECT_EQ(algorithm(clustered), kRows);
  EXPECT_EQ(algorithm(mesh), kRows);
  mesh.edges = 7'000'000;  // too short for a row of b1 in registers
  EXPECT_EQ(algorithm(mesh), kEdges);
  mesh = sizes(1'000'000, 32'000'000, 1, 16, 2);  // 32 bytes a row
  mesh.reuse = 0.65;
  EXPECT_EQ(algorithm(mesh), kEdges);
  EXPECT_EQ(algorithm(sizes(100'000, 8'000'000, 1, 16)), kRows);  // long rows
  SddmmSizes popular = sizes(13'752, 491'722, 1, 32);
  EXPECT_EQ(algorithm(popular), kEdges);
  popular.longest_row = 2992;
  EXPECT_EQ(algorithm(popular), kRows);
}

TEST(OpsSddmmConfig, BordersOfTheRule) {
  const auto algorithm = [](const SddmmSizes& s) { return by_rule(s).algorithm; };
  constexpr SddmmAlgorithm kRows = SddmmAlgorithm::kRows, kEdges = SddmmAlgorithm::kEdges;
  SddmmSizes popular = sizes(10'000, 400'000, 1, 32);
  popular.longest_row = 320;  // 8 times the mean
  EXPECT_EQ(algorithm(popular), kRows);
  popular.longest_row = 319;
  EXPECT_EQ(algorithm(popular), kEdges);
  SddmmSizes small = sizes(40'000, 1'600'000, 1, 32);
  small.longest_row = 320;
  small.cols = 32'768;  // 4 MiB of b2, however many rows b1 has
  EXPECT_EQ(algorithm(small), kRows);
  small.cols = 32'769;
  EXPECT_EQ(algorithm(small), kEdges);
  SddmmSizes local = sizes(1'000'000, 16'000'000, 1, 16);
  local.reuse = 0.45;
  EXPECT_EQ(algorithm(local), kRows);
  local.reuse = 0.449;
  EXPECT_EQ(algorithm(local), kEdges);
  const auto cols = static_cast<std::int64_t>(kH200.l2_bytes) / 256;  // the L2 holds 16 chunks of each row
  EXPECT_EQ(by_rule(sizes(cols, 4 * cols, 1, 128)).slice_chunks, 16);
  EXPECT_EQ(by_rule(sizes(cols + 1, 4 * cols, 1, 128)).slice_chunks, 8);
}

// Each length of a row from which b1 stays in registers, and one edge less.
TEST(OpsSddmmConfig, LengthsOfRows) {
  const auto algorithm = [](std::int64_t edges, std::int64_t k, double reuse, bool clusters) {
    SddmmSizes s = sizes(1000, edges, 1, k);
    s.reuse = reuse, s.has_clusters = clusters;
    return choose_sddmm_algorithm(s);
  };
  const auto begins_at = [&](std::int64_t edges, std::int64_t k, double reuse = 0, bool clusters = false) {
    EXPECT_EQ(algorithm(edges, k, reuse, clusters), SddmmAlgorithm::kRows) << edges << " " << k;
    EXPECT_EQ(algorithm(edges - 1, k, reuse, clusters), SddmmAlgorithm::kEdges) << edges << " " << k;
  };
  begins_at(256'000, 8);  // 32 bytes: locality and clusters do not count
  begins_at(256'000, 8, 0.9, true);
  begins_at(80'000, 9);
  begins_at(24'000, 9, 0, true);
  begins_at(16'000, 9, 0.45);
  begins_at(32'000, 128);  // 512 bytes
  begins_at(80'000, 127);
}

// A mesh has rows of nearly one length, and neighbours near each other.
TEST(OpsSddmmConfig, NarrowWeightedRowsOfMeshes) {
  SddmmSizes mesh = sizes(1000, 7000, 1, 16);
  mesh.reuse = 0.2, mesh.longest_row = 14, mesh.weighted = true;
  EXPECT_EQ(choose_sddmm_algorithm(mesh), SddmmAlgorithm::kRows);
  const auto expect_edges = [&](auto&& change) {
    SddmmSizes other = mesh;
    change(other);
    EXPECT_EQ(choose_sddmm_algorithm(other), SddmmAlgorithm::kEdges);
  };
  expect_edges([](SddmmSizes& s) { s.reuse = 0.199; });
  expect_edges([](SddmmSizes& s) { s.longest_row = 15; });
  expect_edges([](SddmmSizes& s) { s.longest_row = 0; });  // not known
  expect_edges([](SddmmSizes& s) { s.weighted = false; });
  expect_edges([](SddmmSizes& s) { s.k = s.pitch = 17, s.element_bytes = 2; });
  expect_edges([](SddmmSizes& s) { s.k = s.pitch = 17, s.reuse = 0.45; });  // 68 bytes
}

// What was faster on an H200: docs/benchmarks/kernels.md.
TEST(OpsSddmmConfig, TheFasterOrderOfMeasuredGraphs) {
  struct Case {
    std::int64_t rows, edges, k;
    std::size_t element;
    bool clusters;
    double reuse;
    std::int64_t longest;
    bool weighted;
    SddmmAlgorithm faster;
  };
  constexpr SddmmAlgorithm kRows = SddmmAlgorithm::kRows, kEdges = SddmmAlgorithm::kEdges;
  const Case cases[] = {
      {1'048'576, 16'000'000, 16, 4, true, 0.07, 69'518, false, kEdges},  // R-MAT: short rows in clusters
      {1'048'576, 16'000'000, 128, 2, true, 0.07, 69'518, true, kEdges},
      {2'449'029, 123'718'280, 16, 2, true, 0.02, 18'578, false, kEdges},  // products-like
      {2'449'029, 123'718'280, 64, 2, true, 0.02, 18'578, false, kRows},
      {232'965, 114'615'892, 16, 2, true, 0.02, 30'000, false, kRows},  // reddit-like
      {13'752, 491'722, 256, 4, false, 0.1, 2'992, false, kRows},       // amazon_computers
      {13'752, 491'722, 16, 4, false, 0.1, 2'992, true, kEdges},
      {7'575, 479'476, 256, 4, false, 0.1, 1'881, true, kRows},     // flickr
      {1'000'000, 32'000'000, 256, 4, false, 0, 64, false, kRows},  // uniform
      {1'000'000, 32'000'000, 64, 4, false, 0, 64, false, kEdges},
      {1'000'000, 6'940'000, 16, 2, false, 0.28, 7, true, kRows},  // 7-point grid
      {1'000'000, 6'940'000, 16, 4, false, 0.28, 7, true, kRows},
      {1'000'000, 6'940'000, 32, 2, false, 0.28, 7, true, kEdges},
      {1'000'000, 6'940'000, 16, 2, false, 0.28, 7, false, kEdges},
      {2'277, 62'742, 16, 4, false, 0.3, 733, true, kEdges},         // chameleon: hubs
      {1'000'000, 26'463'592, 16, 2, false, 0.65, 27, true, kRows},  // 27-point grid
      {1'000'000, 26'463'592, 32, 4, false, 0.65, 27, false, kRows},
  };
  for (const Case& c : cases) {
    SddmmSizes s = sizes(c.rows, c.edges, 1, c.k, c.element);
    s.has_clusters = c.clusters, s.reuse = c.reuse, s.longest_row = c.longest, s.weighted = c.weighted;
    EXPECT_EQ(by_rule(s).algorithm, c.faster)
        << c.edges << " edges, " << c.k << " columns of " << c.element << " bytes";
  }
}

TEST(OpsSddmmConfig, OnlyRowsOfMeshesAreOnAMesh) {
  SddmmSizes s = sizes(1'000'000, 6'940'000, 1, 128);
  EXPECT_FALSE(choose_sddmm_config(s, SddmmAlgorithm::kRows, kH200).on_mesh);
  s.reuse = 0.28;  // of a 7-point grid
  EXPECT_TRUE(choose_sddmm_config(s, SddmmAlgorithm::kRows, kH200).on_mesh);
  EXPECT_FALSE(choose_sddmm_config(s, SddmmAlgorithm::kEdges, kH200).on_mesh);
}

TEST(OpsSddmmConfig, SlicesFollowTheL2) {
  EXPECT_EQ(by_rule(sizes(169343, 2315598, 1, 128), kA100).slice_chunks, 8);
  EXPECT_EQ(by_rule(sizes(100000, 1000000, 1, 128)).slice_chunks, 32);
}

TEST(OpsSddmmConfig, TheFewestLanesCoverASlice) {
  const std::pair<std::int64_t, const char*> cases[] = {
      {1, "2 lanes x 1 load"},    {2, "2 lanes x 1 load"},    {3, "4 lanes x 1 load"},
      {8, "8 lanes x 1 load"},    {9, "8 lanes x 2 loads"},   {16, "8 lanes x 2 loads"},
      {17, "32 lanes x 1 load"},  {32, "32 lanes x 1 load"},  {33, "32 lanes x 2 loads"},
      {65, "32 lanes x 4 loads"}, {128, "32 lanes x 4 loads"}};
  for (const auto& [chunks, expected] : cases)
    EXPECT_EQ(text(choose_sddmm_tile(chunks, 4, false)), expected) << chunks;
  const std::pair<std::int64_t, const char*> of_mesh[] = {
      {16, "8 lanes x 2 loads"},  {17, "8 lanes x 4 loads"},  {32, "8 lanes x 4 loads"},
      {33, "16 lanes x 4 loads"}, {64, "16 lanes x 4 loads"}, {65, "32 lanes x 4 loads"}};
  for (const auto& [chunks, expected] : of_mesh)
    EXPECT_EQ(text(choose_sddmm_tile(chunks, 4, true)), expected) << chunks;
  for (std::int64_t chunks = 1; chunks <= 128; ++chunks)
    for (const bool on_mesh : {false, true})
      EXPECT_GE(choose_sddmm_tile(chunks, 8, on_mesh).max_chunks(), chunks);
}

}  // namespace
}  // namespace rodeo::test
