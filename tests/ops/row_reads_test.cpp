#include "ops/row_reads.h"

#include <algorithm>

#include "core/memory_stats.h"
#include "ops/gather_rows.h"
#include "ops/pointwise.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsRowReads : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsRowReads);

Variable table(std::int64_t rows, DType dtype, Device device) {
  return Variable(random_tensor({rows, 5}, dtype, device, 1), true);
}

/// The gradient in all rows.
std::vector<double> spread(const RowGradient& gradient, const Shape& shape) {
  std::vector<double> all(static_cast<std::size_t>(shape.numel()));
  const std::vector<double> g = doubles(gradient.g);
  const std::vector<std::int64_t> rows = gradient.rows.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < g.size(); ++i) all.at(rows.at(i / 5) * 5 + i % 5) += g[i];
  return all;
}

// One read, with and without repeated rows, and of none: the gradient of gather_rows(), with its bits.
TEST_P(OpsRowReads, GradientIsThatOfGatheredRows) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16})
    for (const std::vector<std::int64_t>& ids :
         {std::vector<std::int64_t>{7, 2, 9, 0}, {7, 2, 7, 7, 0, 2, 11, 9}, {}}) {
      const Tensor index = Tensor::from(ids, device());
      const Variable t = table(12, dtype, device()), dense(t.value(), true);
      const Variable dy(random_tensor({index.numel(), 5}, dtype, device(), 2));
      const Poisoned poisoned;
      RowReads reads(t);
      const Variable rows = reads.gather(index), wanted = gather_rows(dense, index);
      EXPECT_TRUE(same_bits(rows.value(), wanted.value()));
      mul(rows, dy).backward(Tensor::full(dy.shape(), 1, dtype, device()));
      mul(wanted, dy).backward(Tensor::full(dy.shape(), 1, dtype, device()));
      EXPECT_EQ(spread(reads.gradient(), t.shape()), doubles(dense.grad()));
      EXPECT_FALSE(t.grad().defined());
      std::vector<std::int64_t> read = reads.gradient().rows.to_vector<std::int64_t>();
      std::sort(read.begin(), read.end());
      EXPECT_EQ(std::adjacent_find(read.begin(), read.end()), read.end()) << "all rows are different";
      reads.clear();
      EXPECT_FALSE(reads.gradient().g.defined());
    }
}

// Several reads before one step: sums, in the order of the reads.
TEST_P(OpsRowReads, ReadsAddUp) {
  const Variable t = table(6, DType::kF64, device()), dense(t.value(), true);
  RowReads reads(t);
  for (const std::vector<std::int64_t>& ids : {std::vector<std::int64_t>{1, 3}, {3, 5, 1}, {0}}) {
    const Tensor index = Tensor::from(ids, device());
    const Tensor dy = random_tensor({index.numel(), 5}, DType::kF64, device(), ids.size());
    reads.gather(index).backward(dy);
    gather_rows(dense, index).backward(dy);
  }
  const Variable unused = reads.gather(Tensor::from(std::vector<std::int64_t>{4}, device()));
  EXPECT_EQ(spread(reads.gradient(), t.shape()), doubles(dense.grad()));
  EXPECT_EQ(reads.gradient().rows.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 3, 5}));
}

TEST_P(OpsRowReads, NothingIsKeptWhereNothingIsRecorded) {
  RowReads reads(table(6, DType::kF32, device()));
  const NoGrad guard;
  EXPECT_FALSE(reads.gather(Tensor::from(std::vector<std::int64_t>{1, 3}, device())).requires_grad());
  EXPECT_FALSE(reads.gradient().g.defined());
}

// A table of a million rows takes as much as one of a thousand.
TEST_P(OpsRowReads, MemoryIsOfTheRowsThatAreRead) {
  const auto bytes = [&](std::int64_t rows) {
    RowReads reads(table(rows, DType::kF32, device()));
    const Tensor index = Tensor::from(std::vector<std::int64_t>{7, 2, 7, 999}, device());
    const Tensor dy = random_tensor({4, 5}, DType::kF32, device());
    const MemoryGauge gauge(device());
    reads.gather(index).backward(dy);
    reads.gradient();
    return gauge.bytes();
  };
  bytes(1000);
  EXPECT_EQ(bytes(1000), bytes(1000000));
}

TEST_P(OpsRowReads, Errors) {
  EXPECT_ERROR(RowReads{Variable()}, "[row_reads] table is undefined");
  EXPECT_ERROR(RowReads(Variable(Tensor::zeros({2, 2}, DType::kF32, device()))),
               "[row_reads] table must be a leaf with a gradient");
  RowReads reads(table(6, DType::kF32, device()));
  EXPECT_ERROR(reads.gather(Tensor::zeros({2}, DType::kF32, device())),
               "[gather_rows] index must be i64 [k]");
}

}  // namespace
}  // namespace rodeo::test
