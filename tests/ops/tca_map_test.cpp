// The index map of TCA-SpMM without a GPU: a warp and mma.m16n8k8 played on the host.
#include "ops/tca_map.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <vector>

namespace rodeo::test {
namespace {

constexpr int kLanes = 32;
using tca::kPieces;

struct Piece {
  int nonzero = -1, piece = -1;
};
using Slots = std::array<Piece[2][kPieces], kLanes>;  // [lane][nonzero][slot]

template <class Map>
Slots load() {
  Slots slots;
  for (int lane = 0; lane < kLanes; ++lane)
    for (int h = 0; h < 2; ++h)
      for (int slot = 0; slot < kPieces; ++slot)
        slots[lane][h][slot] = {Map::nonzero(Map::needed_by(lane, slot), h),
                                Map::piece(lane, Map::destined_for(lane, slot))};
  return slots;
}

template <class Map>
Slots exchange(Slots slots) {
  for (int lane = 0; lane < kLanes; ++lane)
    for (int h = 0; h < 2; ++h) Map::rotate(slots[lane][h], lane);
  Slots out;
  for (int lane = 0; lane < kLanes; ++lane)
    for (int h = 0; h < 2; ++h)
      for (int slot = 0; slot < kPieces; ++slot)
        out[lane][h][slot] = slots[lane ^ (slot & Map::kMask)][h][slot];
  return out;
}

// D = A B, with the fragments where the PTX manual has them. k_of(t, h): 2t + h for 16-bit types, t + 4h for
// TF32. Returns the four elements of each lane.
struct Mma {
  double a[16][8] = {}, b[8][8] = {};
  std::array<double, 4> elements(int lane) const {
    const int g = lane / 4, t = lane % 4;
    const auto d = [&](int row, int column) {
      double sum = 0;
      for (int k = 0; k < 8; ++k) sum += a[row][k] * b[k][column];
      return sum;
    };
    return {d(g, 2 * t), d(g, 2 * t + 1), d(g + 8, 2 * t), d(g + 8, 2 * t + 1)};
  }
};

template <class Map, int kVec>
void check_packing() {
  constexpr bool kTf32 = kVec == 4;
  constexpr int kWidth = kVec * Map::kPiecesOfTile;
  const auto x = [](int nonzero, int column) { return (nonzero * 37 + column * 11) % 101 - 50; };
  const auto w = [](int nonzero) { return nonzero * 13 % 29 - 14; };

  const Slots slots = exchange<Map>(load<Map>());
  double diagonal[8][kPieces * kVec] = {};
  for (int slot = 0; slot < kPieces; ++slot)
    for (int pair = 0; pair < kVec / 2; ++pair) {
      Mma mma;
      std::set<int> columns;
      for (int lane = 0; lane < kLanes; ++lane) {
        const int g = lane / 4, t = lane % 4;
        for (int h = 0; h < 2; ++h) {
          const int k = kTf32 ? t + 4 * h : 2 * t + h;
          const Piece piece = slots[lane][h][slot];
          ASSERT_EQ(piece.nonzero, Map::nonzero(lane, h)) << "lane " << lane << " slot " << slot;
          const int column = piece.piece * kVec + 2 * pair;
          mma.a[g][k] = x(piece.nonzero, column);
          mma.a[g + 8][k] = x(piece.nonzero, column + 1);
          mma.b[k][g] = w(piece.nonzero);
          columns.insert({column, column + 1});
        }
      }
      EXPECT_EQ(static_cast<int>(columns.size()), 16 / Map::kSubRows) << "output columns of an MMA";
      for (int quad = 0; quad < 8; ++quad) {
        const int lane = tca::diagonal_lane(quad), element = tca::diagonal_element(quad);
        EXPECT_EQ(lane / 4, quad);
        EXPECT_EQ(2 * (lane % 4) + element, quad) << "row and column of a diagonal element";
        const std::array<double, 4> d = mma.elements(lane);
        const int value = slot * kVec + 2 * pair;
        diagonal[quad][value] = d[element];
        diagonal[quad][value + 1] = d[element + 2];
      }
    }
  for (int column = 0; column < kWidth; ++column) {
    double want = 0, got = 0;
    for (int i = 0; i < Map::kNonzeros; ++i) want += w(i) * x(i, column);
    for (int s = 0; s < Map::kSubRows; ++s)
      got += diagonal[Map::first_quad(column, kVec) + s][Map::value_of(column, kVec)];
    EXPECT_EQ(got, want) << "column " << column;
  }
}

// One load instruction of the warp reads whole 64-byte stretches of rows.
template <class Map>
void check_loads() {
  const Slots slots = load<Map>();
  for (int h = 0; h < 2; ++h)
    for (int slot = 0; slot < kPieces; ++slot) {
      std::map<int, std::set<int>> pieces_of;
      for (int lane = 0; lane < kLanes; ++lane) {
        const Piece piece = slots[lane][h][slot];
        EXPECT_TRUE(pieces_of[piece.nonzero].insert(piece.piece).second) << "loaded twice";
      }
      for (const auto& [nonzero, pieces] : pieces_of)
        for (const int piece : pieces)
          for (int i = 0; i < 4; ++i) EXPECT_TRUE(pieces.contains(piece / 4 * 4 + i)) << "row " << nonzero;
    }
}

template <int kSubRows>
void check_all() {
  using Map = tca::Packing<kSubRows>;
  check_packing<Map, 8>();
  check_packing<Map, 4>();
  check_loads<Map>();
}

TEST(OpsTcaMap, RowsOfUpTo64Nonzeros) {
  check_all<8>();
}
TEST(OpsTcaMap, RowsOfUpTo32Nonzeros) {
  check_all<4>();
}
TEST(OpsTcaMap, RowsOfUpTo16Nonzeros) {
  check_all<2>();
}
TEST(OpsTcaMap, RowsOfUpTo8Nonzeros) {
  check_all<1>();
}

}  // namespace
}  // namespace rodeo::test
