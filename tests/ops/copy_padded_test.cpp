#include "ops/copy_padded.h"

#include "tests/support/devices.h"

namespace rodeo::test {
namespace {

class OpsCopyPadded : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsCopyPadded);

template <class T>
std::vector<T> numbers(std::int64_t count, std::int64_t first) {
  std::vector<T> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(static_cast<T>(first + i));
  return out;
}

// More copies than one kernel takes, of all lengths, with and without a filler.
TEST_P(OpsCopyPadded, CopiesThenFills) {
  std::vector<PaddedCopy> copies;
  std::vector<std::vector<std::int64_t>> expected;
  for (std::int64_t c = 0; c < 70; ++c) {
    const std::int64_t all = c % 7 == 6 ? 100'000 : 3 * c, used = c % 3 == 0 ? all : all / 2;
    const DType dtype = c % 2 ? DType::kI64 : DType::kI32;
    const auto on_device = [&](std::int64_t count, std::int64_t first) {
      return Tensor::from(numbers<std::int64_t>(count, first)).to(dtype).to(device());
    };
    copies.push_back({.from = on_device(used, 5 * c),
                      .to = Tensor::empty({all}, dtype, device()),
                      .filler = c % 5 == 0 ? on_device(all, -9) : Tensor(),
                      .value = c - 40});
    std::vector<std::int64_t> values = numbers<std::int64_t>(used, 5 * c);
    for (std::int64_t i = used; i < all; ++i) values.push_back(c % 5 == 0 ? i - 9 : c - 40);
    expected.push_back(values);
  }
  copy_padded(copies);
  for (std::size_t c = 0; c < copies.size(); ++c)
    EXPECT_EQ(copies[c].to.to(DType::kI64).to_vector<std::int64_t>(), expected[c]) << c;
  copy_padded({});
}

TEST_P(OpsCopyPadded, Errors) {
  const Tensor two = Tensor::zeros({2}, DType::kI64, device()),
               three = Tensor::zeros({3}, DType::kI64, device());
  const char* const text =
      "[copy_padded] arrays must be i32 or i64 vectors of one dtype on one device, none longer than its "
      "destination";
  EXPECT_ERROR(copy_padded({{.from = three, .to = two}}), text);
  EXPECT_ERROR(copy_padded({{.from = two.to(DType::kI32), .to = three}}), text);
  EXPECT_ERROR(copy_padded({{.from = two, .to = three, .filler = two}}),
               "[copy_padded] a filler must be like its destination, [3]");
}

}  // namespace
}  // namespace rodeo::test
