#include "core/upload_buffer.h"

#include <cstring>

#include "tests/support/devices.h"

namespace rodeo::test {
namespace {

class CoreUploadBuffer : public OnDevice {};
RODEO_ON_ALL_DEVICES(CoreUploadBuffer);

// Filled again at once: the copy before must have read its bytes.
TEST_P(CoreUploadBuffer, EveryCopyHasItsOwnBytes) {
  UploadBuffer buffer(device());
  std::vector<Tensor> copies;
  for (int i = 0; i < 20; ++i) {
    const std::int64_t count = 1000 + 30000 * (i % 3);
    auto* memory = static_cast<float*>(buffer.get(static_cast<std::size_t>(count) * sizeof(float)));
    std::fill_n(memory, count, static_cast<float>(i));
    copies.push_back(Tensor::empty({count}, DType::kF32, device()));
    buffer.upload(copies.back());
  }
  for (int i = 0; i < 20; ++i)
    for (const float value : copies[static_cast<std::size_t>(i)].to_vector<float>())
      ASSERT_EQ(value, static_cast<float>(i));
}

TEST_P(CoreUploadBuffer, Errors) {
  UploadBuffer buffer(device());
  EXPECT_ERROR(
      buffer.upload(Tensor::empty({2, 2}, DType::kF32, device())),
      str("[upload_buffer] [2, 2] on ", device(), " is not a tensor of ", device(), " of at most 0 bytes"));
  buffer.upload(Tensor::empty({0, 2}, DType::kF32, device()));
}

}  // namespace
}  // namespace rodeo::test
