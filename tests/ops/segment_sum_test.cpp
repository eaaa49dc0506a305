#include "ops/segment_sum.h"

#include "ops/convert.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsSegmentSum : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsSegmentSum);

TEST_P(OpsSegmentSum, AllCasesIndicesAndTypes) {
  for (const SparseCase& sparse_case : sparse_cases()) {
    const Adjacency host = sparse_case.make();
    const auto rows = static_cast<std::size_t>(host.rows());
    const std::vector<double> row = doubles(edge_rows(host)), col = doubles(host.csr().col);
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16}) {
      const Tensor weight = random_tensor({host.num_edges()}, dtype, kCpu, 4),
                   x = random_tensor({host.cols()}, dtype, kCpu, 5);
      const std::vector<double> w = doubles(weight), xs = doubles(x);
      struct Want {
        std::vector<double> y, scale;
      };
      Want value{std::vector<double>(rows), std::vector<double>(rows)}, pattern = value, product = value;
      for (std::size_t e = 0; e < row.size(); ++e) {
        const auto add = [&](Want& want, double term) {
          want.y[static_cast<std::size_t>(row[e])] += term;
          want.scale[static_cast<std::size_t>(row[e])] += std::abs(term);
        };
        const double gathered = xs[static_cast<std::size_t>(col[e])];
        add(value, w[e]);
        add(pattern, gathered);
        add(product, w[e] * gathered);
      }
      const double rtol = dtype == DType::kF64 ? 1e-13 : dtype == DType::kF32 ? 1e-5 : epsilon(dtype);
      for (const DType index : {DType::kI32, DType::kI64}) {
        const Tensor r = edge_rows(host).to(index).to(device()), c = host.csr().col.to(index).to(device()),
                     there = weight.to(device()), x_there = x.to(device());
        const Poisoned poisoned;
        const auto expect = [&](const char* what, const Want& want, auto&& run) {
          const Tensor y = run();
          ASSERT_TRUE(near(y, want.y, rtol, 1e-7, want.scale))
              << sparse_case.name << " " << what << " " << dtype << " " << index;
          for (int i = 0; i < 3; ++i) ASSERT_TRUE(same_bits(y, run())) << sparse_case.name;
        };
        expect("sum", value, [&] { return segment_sum(r, there, host.rows()); });
        expect("pattern", pattern, [&] { return coo_spmv(r, c, x_there, host.rows()); });
        expect("weighted", product, [&] { return coo_spmv(r, c, there, x_there, host.rows()); });
      }
    }
  }
}

TEST_P(OpsSegmentSum, Degrees) {
  const Tensor row = Tensor::from(std::vector<std::int64_t>{1, 1, 1, 4, 6, 6}, device());
  EXPECT_EQ(segment_sum(row, Tensor::full({6}, 1, DType::kF32, device()), 8).to_vector<float>(),
            (std::vector<float>{0, 3, 0, 0, 1, 0, 2, 0}));
}

TEST_P(OpsSegmentSum, IsSortedTellsAscendingIds) {
  for (const DType dtype : {DType::kI32, DType::kI64}) {
    const auto sorted = [&](std::vector<std::int64_t> ids) {
      return is_sorted(Tensor::from(ids).to(dtype).to(device()));
    };
    EXPECT_TRUE(sorted({}));
    EXPECT_TRUE(sorted({5}));
    EXPECT_TRUE(sorted({-1, 0, 0, 7}));
    EXPECT_FALSE(sorted({0, 1, 0}));
    std::vector<std::int64_t> many(100'001, 3);
    EXPECT_TRUE(sorted(many));
    many.back() = 2;
    EXPECT_FALSE(sorted(many));
  }
  EXPECT_ERROR(is_sorted(Tensor::zeros({3})), "[is_sorted] row must be i32 or i64 [edges]");
}

TEST_P(OpsSegmentSum, NoEdges) {
  const Tensor row = Tensor::empty({0}, DType::kI32, device()),
               value = Tensor::empty({0}, DType::kF32, device());
  const Poisoned poisoned;
  EXPECT_EQ(segment_sum(row, value, 3).to_vector<float>(), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(segment_sum(row, value, 0).shape(), Shape{0});
  EXPECT_EQ(coo_spmv(row, row, value, 2).to_vector<float>(), (std::vector<float>{0, 0}));
}

TEST_P(OpsSegmentSum, ValuesOfTheIdsAreChecked) {
  const auto ids = [&](const std::vector<std::int64_t>& values) { return Tensor::from(values, device()); };
  const Tensor value = Tensor::zeros({4}, DType::kF32, device());
  EXPECT_ERROR(segment_sum(ids({0, 2, 1, 3}), value, 5),
               "[segment_sum] row must be sorted: row[2] = 1 follows 2");
  EXPECT_ERROR(segment_sum(ids({0, 2, 5, 6}).to(DType::kI32), value, 5),
               "[segment_sum] row[2] is 5, outside [0, 5)");
  EXPECT_ERROR(segment_sum(ids({-1, 2, 2, 3}), value, 5), "[segment_sum] row[0] is -1, outside [0, 5)");
  EXPECT_ERROR(segment_sum(ids({0, 0, 0, 0}), value, 0), "[segment_sum] row[0] is 0, outside [0, 0)");
  EXPECT_ERROR(segment_sum(ids({0, 0, 0, std::int64_t{1} << 40}), value, 5),
               "[segment_sum] row[3] is 1099511627776, outside [0, 5)");
  EXPECT_ERROR(coo_spmv(ids({0, 0, 1, 1}), ids({3, 4, -2, 0}), value, 2),
               "[coo_spmv] col[1] is 4, outside [0, 4)");
  std::vector<std::int64_t> long_list(100000, 7);
  long_list[66666] = 6;
  EXPECT_ERROR(segment_sum(ids(long_list), Tensor::zeros({100000}, DType::kF32, device()), 8),
               "[segment_sum] row must be sorted: row[66666] = 6 follows 7");
}

TEST_P(OpsSegmentSum, Errors) {
  const Tensor row = Tensor::from(std::vector<std::int64_t>{0, 1}, device()),
               x = Tensor::zeros({2}, DType::kF32, device());
  EXPECT_ERROR(segment_sum(x, x, 2), "[segment_sum] row must be i32 or i64 [edges]");
  EXPECT_ERROR(segment_sum(row, row, 2), "[segment_sum] value must be floating point, got i64");
  EXPECT_ERROR(segment_sum(row, Tensor::zeros({3}, DType::kF32, device()), 2),
               "[segment_sum] value must be [2], got [3]");
  EXPECT_ERROR(segment_sum(row, x, -1), "[segment_sum] rows must be in [0, 2^31 - 1], got -1");
  EXPECT_ERROR(segment_sum(row, x, std::int64_t{1} << 31),
               "[segment_sum] rows must be in [0, 2^31 - 1], got 2147483648");
  EXPECT_ERROR(coo_spmv(row, row.to(DType::kI32), x, 2),
               "[coo_spmv] col must have the dtype of row, i64, got i32");
  EXPECT_ERROR(coo_spmv(row, row.slice(0, 1), x, 2), "[coo_spmv] col must be [2], got [1]");
  EXPECT_ERROR(coo_spmv(row, row, Tensor::zeros({3}, DType::kF32, device()), x, 2),
               "[coo_spmv] weight must be [2], got [3]");
  EXPECT_ERROR(coo_spmv(row, row, Tensor(), x, 2),
               "[coo_spmv] weight is undefined: leave it out for an unweighted sum");
}

}  // namespace
}  // namespace rodeo::test
