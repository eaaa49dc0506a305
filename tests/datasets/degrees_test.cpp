#include "datasets/degrees.h"

#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

using Ids = std::vector<std::int64_t>;

class DatasetsDegrees : public OnDevice {
 protected:
  Dataset list(const std::vector<std::int32_t>& dst, std::int64_t nodes) const {
    Dataset d;
    d.num_nodes = nodes;
    d.dst = Tensor::from(dst).to(device());
    d.src = Tensor::zeros({d.dst.numel()}, DType::kI32, device());
    return d;
  }
};
RODEO_ON_ALL_DEVICES(DatasetsDegrees);

TEST_P(DatasetsDegrees, OfEveryFormOfEdges) {
  EXPECT_EQ(in_degrees(list({1, 1, 3, 3, 3, 4}, 6)).to_vector<std::int64_t>(), (Ids{0, 2, 0, 3, 1, 0}));
  EXPECT_EQ(in_degrees(list({3, 1, 3, 4, 1, 3}, 6)).to_vector<std::int64_t>(), (Ids{0, 2, 0, 3, 1, 0}));
  EXPECT_EQ(in_degrees(list({}, 2)).to_vector<std::int64_t>(), (Ids{0, 0}));
  Dataset csr = list({}, 3);
  csr.src = csr.dst = Tensor();
  csr.indptr = Tensor::from(Ids{0, 2, 2, 3}).to(device());
  csr.indices = Tensor::from(std::vector<std::int32_t>{0, 0, 2}).to(device());
  EXPECT_EQ(in_degrees(csr).to_vector<std::int64_t>(), (Ids{2, 0, 1}));
}

TEST_P(DatasetsDegrees, ManyEdgesOfOneNode) {
  std::vector<std::int32_t> dst(300'000, 7);
  dst.front() = 0, dst.back() = 9;
  const Ids degree = in_degrees(list(dst, 10)).to_vector<std::int64_t>();
  EXPECT_EQ(degree, (Ids{1, 0, 0, 0, 0, 0, 0, 299'998, 0, 1}));
}

TEST_P(DatasetsDegrees, IdsOutsideTheGraph) {
  EXPECT_ERROR(in_degrees(list({0, 5}, 5)), "[segment_sum] row[1] is 5, outside [0, 5)");
}

}  // namespace
}  // namespace rodeo::test
