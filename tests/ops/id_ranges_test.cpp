// Ids that are numbered range by range: sorted, inverted and shifted, the same on all devices.
#include "ops/id_ranges.h"

#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

using Ids = std::vector<std::int64_t>;

class OpsIdRanges : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsIdRanges);

TEST_P(OpsIdRanges, GroupsKeepTheOrderWithinARange) {
  const Ids begin{0, 5, 5, 9, 12};  // the second has no ids
  const RangeGroups groups = group_by_range(Tensor::from(Ids{11, 4, 5, 0, 8, 9, 4, 3}, device()), begin);
  EXPECT_EQ(groups.begin, (Ids{0, 4, 4, 6, 8}));
  EXPECT_EQ(groups.order.to_vector<std::int64_t>(), (Ids{1, 3, 6, 7, 2, 4, 0, 5}));
  const RangeGroups none = group_by_range(Tensor::from(Ids{}, device()), begin);
  EXPECT_EQ(none.begin, (Ids{0, 0, 0, 0, 0}));
  EXPECT_EQ(none.order.numel(), 0);
}

TEST_P(OpsIdRanges, APermutationIsInverted) {
  Ids order;
  for (std::int64_t i = 0; i < 1000; ++i) order.push_back(i * 7 % 1000);
  const auto inverse = inverse_permutation(Tensor::from(order, device())).to_vector<std::int32_t>();
  for (std::size_t i = 0; i < order.size(); ++i)
    ASSERT_EQ(inverse[static_cast<std::size_t>(order[i])], static_cast<std::int32_t>(i));
}

TEST_P(OpsIdRanges, NumbersAreAffine) {
  const Tensor ids = Tensor::from(std::vector<std::int32_t>{3, 0, 2}, device()),
               out = Tensor::full({3}, -1, DType::kI64, device());
  number_ids(ids, 10, 4, out);
  EXPECT_EQ(out.to_vector<std::int64_t>(), (Ids{22, 10, 18}));
  number_ids(out, -10, 1, out);  // in place
  EXPECT_EQ(out.to_vector<std::int64_t>(), (Ids{12, 0, 8}));
  number_ids(out, 1, 1, ids);
  EXPECT_EQ(ids.to_vector<std::int32_t>(), (std::vector<std::int32_t>{13, 1, 9}));
  number_ids({}, 5, 2, out);
  EXPECT_EQ(out.to_vector<std::int64_t>(), (Ids{5, 7, 9}));
}

TEST(OpsIdRangesErrors, NameWhatIsWrong) {
  const Tensor ids = Tensor::from(Ids{1, 2}), wrong = Tensor::zeros({2});
  EXPECT_ERROR(group_by_range(ids, {0}), "[group_by_range] begin must have at least two entries, ascending");
  EXPECT_ERROR(group_by_range(ids, {0, 5, 4}),
               "[group_by_range] begin must have at least two entries, ascending");
  EXPECT_ERROR(inverse_permutation(wrong),
               "[inverse_permutation] order must be i64 [n], with n of at most 2147483647");
  EXPECT_ERROR(number_ids(ids, 0, 1, wrong), "[number_ids] out must be i32 or i64 [n]");
  EXPECT_ERROR(number_ids(ids, 0, 1, Tensor::from(Ids{1})), "[number_ids] ids must be i32 or i64 [1] on cpu");
}

}  // namespace
}  // namespace rodeo::test
