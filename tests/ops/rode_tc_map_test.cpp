// The index map of RoDe-TC without a GPU: a warp and its MMAs played on the host.
#include "ops/plan/rode_tc_map.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace rodeo::test {
namespace {

constexpr int kWarp = 32;

// D += A B, with the fragments where the PTX manual has them: m16n8k16, or two m16n8k8 side by side. k_of(t,
// i) is the k of a lane's nonzero i.
struct Mma {
  double a[16][16] = {}, b[16][8] = {}, d[16][8] = {};
  void multiply() {
    for (int row = 0; row < 16; ++row)
      for (int column = 0; column < 8; ++column)
        for (int k = 0; k < 16; ++k) d[row][column] += a[row][k] * b[k][column];
  }
  std::array<double, 4> elements(int lane) const {
    const int g = lane / 4, t = lane % 4;
    return {d[g][2 * t], d[g][2 * t + 1], d[g + 8][2 * t], d[g + 8][2 * t + 1]};
  }
};
int k_of(int t, int i, bool tf32) {
  return tf32 ? i / 2 * 8 + i % 2 * 4 + t : i / 2 * 8 + 2 * t + i % 2;
}

// Every lane's four nonzeros on its piece, product by product, then what each lane keeps, as the kernel does.
template <class Map, int kVec>
void check_products(bool weighted) {
  const auto x = [](int nonzero, int column) { return (nonzero * 37 + column * 11) % 101 - 50; };
  const auto w = [&](int nonzero) { return weighted ? nonzero * 13 % 29 - 14 : 1; };
  const auto nonzero = [](int set, int i) { return set * rode_tc::kDepth + i; };

  for (int product = 0; product < kVec / 2; ++product) {
    Mma mma;
    for (int lane = 0; lane < kWarp; ++lane)
      for (int i = 0; i < rode_tc::kDepth; ++i) {
        const int k = k_of(lane % 4, i, kVec == 4), column = Map::piece(lane) * kVec + 2 * product;
        const int own = nonzero(Map::set(lane), i);
        mma.a[lane / 4][k] = x(own, column);
        mma.a[lane / 4 + 8][k] = x(own, column + 1);
        mma.b[k][lane / 4] = Map::on_diagonal(lane) ? w(own) : 0;
      }
    mma.multiply();
    for (int lane = 0; lane < kWarp; ++lane) {
      const bool mine = !weighted || Map::counts(lane);
      if (!mine) {
        ASSERT_TRUE(Map::counts(lane ^ 2));
      }
      const std::array<double, 4> d = mma.elements(mine ? lane : lane ^ 2);
      const int kept = mine ? Map::kept(lane) : 1 - Map::kept(lane ^ 2);
      for (int i = 0; i < 2; ++i) {
        const int column = lane % Map::kLanes * kVec + 2 * product + i;
        double want = 0;
        for (int n = 0; n < rode_tc::kDepth; ++n) {
          const int own = nonzero(Map::set(lane), n);
          want += w(own) * x(own, column);
        }
        EXPECT_EQ(d[kept + 2 * i], want) << "lane " << lane << " column " << column;
      }
    }
  }
}

// The lanes of a set load each piece of their row once.
template <class Map>
void check_loads() {
  std::set<std::pair<int, int>> loaded;
  for (int lane = 0; lane < kWarp; ++lane) {
    EXPECT_TRUE(loaded.emplace(Map::set(lane), Map::piece(lane)).second) << "loaded twice";
    EXPECT_LT(Map::piece(lane), Map::kLanes);
  }
}

template <int kLanes>
void check_all() {
  using Map = rode_tc::Packing<kLanes>;
  check_products<Map, 8>(false);
  check_products<Map, 4>(false);
  if (Map::kTakesWeights) check_products<Map, 8>(true);
  check_loads<Map>();
}

TEST(OpsRodeTcMap, TilesOf256Bytes) {
  check_all<16>();
}
TEST(OpsRodeTcMap, TilesOf128Bytes) {
  check_all<8>();
}
TEST(OpsRodeTcMap, TilesOf64Bytes) {
  check_all<4>();
}

}  // namespace
}  // namespace rodeo::test
