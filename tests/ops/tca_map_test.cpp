// The index maps of TCA-SpMM without a GPU: a row's warps, their shared memory and their MMAs played on the
// host.
#include "ops/plan/tca_map.h"

#include <gtest/gtest.h>

#include "ops/plan/tca_plan.h"

#include <map>
#include <set>

namespace rodeo::test {
namespace {

constexpr int kWarp = 32, kBankBytes = 128;

int x(int nonzero, int column) {
  return (nonzero * 37 + column * 11) % 101 - 50;
}
int weight(int nonzero) {
  return nonzero * 13 % 29 - 14;
}

/// The compressed-RHS buffer of one chunk: the element at every byte offset.
template <int kElementBytes, int kBlocks>
class Buffer {
 public:
  using Map = tca::Map<kElementBytes, kBlocks>;

  // Stores as TcaOperands::store does. The 128 bytes that the lanes write at once are in different banks.
  void gather() {
    for (int member = 0; member < kBlocks; ++member)
      for (int part = 0; part < 2; ++part)
        if constexpr (kElementBytes == 2) {
          for (int matrix = 0; matrix < 4; ++matrix) {
            std::set<int> banks;
            for (int line = 0; line < 8; ++line) {
              const int column = Map::stored_column(matrix * 8 + line),
                        at = Map::offset(column, member, part);
              EXPECT_TRUE(banks.insert(at % kBankBytes / 16).second) << "bank conflict of a store";
              // Line `line` of the transposed matrix: element line % 2 of word `matrix`, of the lanes with
              // lane % 4 = line / 2.
              for (int i = 0; i < 8; ++i) {
                const int lane = 4 * i + line / 2, nonzero = lane / 8 + 4 * part;
                put(at + 2 * i, member * 8 + nonzero, lane % 8 * Map::kVec + matrix * 2 + line % 2);
              }
            }
          }
        } else {
          for (int element = 0; element < 4; ++element) {
            std::set<int> banks;
            for (int lane = 0; lane < kWarp; ++lane) {
              const int column = lane % 8 * Map::kVec + element,
                        at = Map::offset(column, member, part) + lane / 8 * 4;
              put(at, member * 8 + lane / 8 + 4 * part, column);
              EXPECT_TRUE(banks.insert(at % kBankBytes / 4).second) << "bank conflict of a store";
            }
          }
        }
  }

  /// x of nonzero k of the member's 8, in row g of an operand.
  double left(int member, int operand, int g, int k) const {
    const int part = k / 4, of_member = Map::left_member(g);
    if constexpr (kElementBytes == 2) {
      const int q = operand / 4 * 2 + operand % 2, upper = operand / 2 % 2;
      return x_.at(Map::offset(Map::left_column(member, q, g), of_member, part) + k % 4 * 4 + upper * 2);
    } else {
      return x_.at(Map::offset(Map::left_column(member, operand, g), of_member, part) + k % 4 * 4);
    }
  }
  // A matrix of ldmatrix: 8 rows of 16 bytes.
  static void check_left_banks(int member, int q) {
    for (int part = 0; part < 2; ++part) {
      std::set<int> banks;
      for (int g = 0; g < 8; ++g) {
        const int at = Map::offset(Map::left_column(member, q, g), Map::left_member(g), part);
        EXPECT_TRUE(banks.insert(at % kBankBytes / 16).second) << "bank conflict of a load";
      }
    }
  }

 private:
  void put(int at, int nonzero, int column) {
    EXPECT_LT(at, Map::kBytes);
    EXPECT_TRUE(x_.emplace(at, x(nonzero, column)).second) << "written twice: " << at;
  }
  std::map<int, double> x_;
};

template <int kElementBytes, int kBlocks>
void check_row() {
  using Map = tca::Map<kElementBytes, kBlocks>;
  Buffer<kElementBytes, kBlocks> buffer;
  buffer.gather();
  std::map<int, double> y;                 // of every column of the tile
  std::set<std::pair<int, int>> products;  // member, product
  for (int member = 0; member < kBlocks; ++member) {
    for (int q = 0; q < Map::kLefts; ++q) buffer.check_left_banks(member, q);
    for (int operand = 0; operand < 2 * Map::kMmas; ++operand) {
      products.emplace(member, operand / 2);
      for (int g = 0; g < 8; ++g) {  // element g of the diagonal
        double sum = 0;
        for (int k = 0; k < 8; ++k) sum += buffer.left(member, operand, g, k) * weight(g % kBlocks * 8 + k);
        const int column = Map::column(member, operand, g), part = operand / (Map::kMmas / 2) / 2;
        y[column] += sum;
        EXPECT_GE(column, Map::first_column(member, kElementBytes == 2 ? operand / 2 % 2 : part));
      }
    }
  }
  ASSERT_EQ(static_cast<int>(y.size()), Map::kColumns);
  for (const auto& [column, sum] : y) {
    double want = 0;
    for (int n = 0; n < 8 * kBlocks; ++n) want += x(n, column) * weight(n);
    EXPECT_EQ(sum, want) << "column " << column << ", warps " << kBlocks;
  }
  // The paper's cost model has this number for a row of so many nonzeros.
  EXPECT_EQ(std::ssize(products), TcaPlan::mmas(8 * kBlocks, Map::kColumns));
}

TEST(OpsTcaMap, EveryOutputIsItsDotProduct) {
  check_row<2, 1>();
  check_row<2, 2>();
  check_row<2, 4>();
  check_row<2, 8>();
  check_row<4, 1>();
  check_row<4, 2>();
  check_row<4, 4>();
  check_row<4, 8>();
}

}  // namespace
}  // namespace rodeo::test
