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

TEST(OpsSddmmConfig, OrderAndSlicesOnH200) {
  const std::pair<SddmmSizes, const char*> cases[] = {
      {sizes(2708, 10556, 1, 64), "across rows, 16 chunks"},
      {sizes(169343, 2315598, 1, 64), "across rows, 16 chunks"},
      {sizes(169343, 2315598, 1, 128), "across rows, 32 chunks in slices of 16"},
      {sizes(169343, 2315598, 1, 128, 2), "across rows, 16 chunks"},
      {sizes(169343, 2315598, 8, 64), "across rows, 16 chunks"},
      {sizes(232965, 114615892, 1, 128), "by rows, 32 chunks in slices of 16"},
      {sizes(2449029, 123718280, 1, 128), "by rows, 32 chunks"},
      {sizes(2708, 10556, 1, 602), "across rows, 151 chunks in slices of 76"},
      {sizes(2708, 10556, 1, 64, 8), "by rows, 32 chunks"},
  };
  for (const auto& [s, expected] : cases)
    EXPECT_EQ(text(choose_sddmm_config(s, kH200)), expected) << s.rows << " rows, " << s.k << " columns";
  SddmmSizes unaligned = sizes(2708, 10556, 1, 41);
  unaligned.b1_is_aligned = false;
  EXPECT_EQ(text(choose_sddmm_config(unaligned, kH200)), "by rows, 11 chunks");
}

TEST(OpsSddmmConfig, SlicesFollowTheL2) {
  EXPECT_EQ(choose_sddmm_config(sizes(169343, 2315598, 1, 128), kA100).slice_chunks, 8);
  EXPECT_EQ(choose_sddmm_config(sizes(100000, 1000000, 1, 128), kH200).slice_chunks, 32);
}

TEST(OpsSddmmConfig, TheFewestLanesCoverASlice) {
  const std::pair<std::int64_t, const char*> cases[] = {
      {1, "2 lanes x 1 load"},    {2, "2 lanes x 1 load"},    {3, "4 lanes x 1 load"},
      {8, "8 lanes x 1 load"},    {9, "8 lanes x 2 loads"},   {16, "8 lanes x 2 loads"},
      {17, "32 lanes x 1 load"},  {32, "32 lanes x 1 load"},  {33, "32 lanes x 2 loads"},
      {65, "32 lanes x 4 loads"}, {128, "32 lanes x 4 loads"}};
  for (const auto& [chunks, expected] : cases)
    EXPECT_EQ(text(choose_sddmm_tile(chunks, 4)), expected) << chunks;
  for (std::int64_t chunks = 1; chunks <= 128; ++chunks)
    EXPECT_GE(choose_sddmm_tile(chunks, 8).max_chunks(), chunks);
}

}  // namespace
}  // namespace rodeo::test
