#include "ops/validate.h"

#include <limits>

#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

class OpsValidate : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsValidate);

using Ids = std::vector<std::int64_t>;

TEST_P(OpsValidate, FirstOutsideIsTheFirstOfSeveral) {
  for (const std::int64_t size : {1, 31, 5000, 200'003})
    for (const DType dtype : {DType::kI32, DType::kI64}) {
      Ids ids(static_cast<std::size_t>(size));
      for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i % 97);
      const auto first = [&] { return first_outside(Tensor::from(ids).to(dtype).to(device()), 97); };
      EXPECT_EQ(first(), -1);
      for (std::int64_t at = size - 1; at >= 0; at = at * 2 / 3 - (at < 3)) {
        ids[static_cast<std::size_t>(at)] = at % 2 == 0 ? -1 : 97;
        EXPECT_EQ(first(), at) << size;
      }
    }
  EXPECT_EQ(first_outside(Tensor::empty({0}, DType::kI32, device()), 0), -1);
  EXPECT_EQ(first_outside(Tensor::from(Ids{0, std::int64_t{1} << 32}, device()), 5), 1);
  EXPECT_ERROR(first_outside(Tensor::empty({2}, DType::kF32, device()), 5),
               "[first_outside] ids must be i32 or i64 [n]");
}

TEST_P(OpsValidate, FirstNotFiniteOfEveryType) {
  const double bad[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                        -std::numeric_limits<double>::infinity()};
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16}) {
    const Tensor values = random_tensor({300, 37}, DType::kF64, kCpu);
    const auto first = [&] { return first_not_finite(values.to(dtype).to(device())); };
    EXPECT_EQ(first(), -1) << dtype;
    for (const std::int64_t at : {11'099, 4097, 4096, 36, 0}) {
      values.data<double>()[at] = bad[at % 3];
      EXPECT_EQ(first(), at) << dtype;
    }
  }
  EXPECT_EQ(first_not_finite(Tensor::empty({0, 4}, DType::kF32, device())), -1);
  EXPECT_ERROR(first_not_finite(Tensor::empty({2}, DType::kI32, device())),
               "[first_not_finite] values must be floating point");
}

// The definition of CsrScan, edge by edge. Row flags are defined for a valid row_ptr only.
void expect_scan(const Ids& row_ptr, const std::vector<std::int32_t>& col, std::int64_t cols, Device device) {
  const auto rows = static_cast<std::int64_t>(row_ptr.size()) - 1,
             edges = static_cast<std::int64_t>(col.size());
  CsrScan want{-1, -1, true, false};
  for (std::int64_t i = rows; i >= 0; --i)
    if ((i == 0 && row_ptr[i] != 0) || (i > 0 && row_ptr[i] < row_ptr[i - 1]) ||
        (i == rows && row_ptr[i] != edges))
      want.bad_row_ptr = i;
  for (std::int64_t e = edges - 1; e >= 0; --e)
    if (col[e] < 0 || col[e] >= cols) want.bad_col = e;
  const CsrScan got = scan_csr(Tensor::from(row_ptr, device), Tensor::from(col, device), cols);
  EXPECT_EQ(got.bad_row_ptr, want.bad_row_ptr);
  EXPECT_EQ(got.bad_col, want.bad_col);
  if (want.bad_row_ptr >= 0) return;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t e = row_ptr[i] + 1; e < row_ptr[i + 1]; ++e)
      want.sorted &= col[e - 1] <= col[e], want.repeats |= col[e - 1] == col[e];
  EXPECT_EQ(got.sorted, want.sorted);
  EXPECT_EQ(got.repeats, want.repeats);
}

TEST_P(OpsValidate, ScanCsrOfAllCasesAndOfSpoiledOnes) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  for (const SparseCase& sparse_case : sparse_cases()) {
    SCOPED_TRACE(sparse_case.name);
    const Csr csr = sparse_case.make().csr();
    const auto row_ptr = csr.row_ptr.to_vector<std::int64_t>();
    auto col = csr.col.to_vector<std::int32_t>();
    expect_scan(row_ptr, col, csr.cols, device());
    for (std::int64_t i = 0; i < csr.rows; ++i)
      std::sort(col.begin() + row_ptr[i], col.begin() + row_ptr[i + 1]);
    expect_scan(row_ptr, col, csr.cols, device());
    for (const std::int64_t value : {std::int64_t{-1}, kHuge, -kHuge, csr.col.numel() + 1})
      for (const std::size_t at : {std::size_t{0}, row_ptr.size() / 2, row_ptr.size() - 1}) {
        Ids spoiled = row_ptr;
        spoiled[at] = value;
        expect_scan(spoiled, col, csr.cols, device());
      }
    for (const std::size_t at : {std::size_t{0}, col.size() / 2, col.size() - 1}) {
      if (col.empty()) break;
      auto spoiled = col;
      spoiled[at] = at % 2 == 0 ? -1 : static_cast<std::int32_t>(csr.cols);
      expect_scan(row_ptr, spoiled, csr.cols, device());
    }
  }
  expect_scan({0}, {}, 0, device());
  expect_scan({1}, {}, 0, device());
  EXPECT_ERROR(
      scan_csr(Tensor::empty({0}, DType::kI64, device()), Tensor::empty({0}, DType::kI32, device()), 1),
      "[scan_csr] row_ptr must be i64 [rows + 1]");
}

}  // namespace
}  // namespace rodeo::test
