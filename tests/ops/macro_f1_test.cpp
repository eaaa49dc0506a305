#include "ops/macro_f1.h"

#include <map>

#include "core/storage.h"
#include "tests/support/devices.h"
#include "tests/support/gradcheck.h"

namespace rodeo::test {
namespace {

class OpsMacroF1 : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsMacroF1);

TEST_P(OpsMacroF1, AgainstCounts) {
  set_poison_memory(true);
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16})
    for (const std::int64_t c : {1, 2, 5, 300}) {
      const std::int64_t n = 700;
      const Tensor scores = random_tensor({n, c}, dtype, device());
      std::vector<std::int64_t> label, index;
      for (std::int64_t i = 0; i < n; ++i) {
        label.push_back((i * 7 + i / 3) % c);
        if (i % 3 != 0) index.push_back((i * 11) % n);
      }
      const std::vector<double> s = doubles(scores);
      std::map<std::int64_t, double> hits, named;
      for (const std::int64_t i : index) {
        std::int64_t best = 0;
        for (std::int64_t j = 0; j < c; ++j)
          if (s[i * c + j] > s[i * c + best]) best = j;
        ++named[best], ++named[label[i]], hits[best] += best == label[i];
      }
      double want = 0;
      for (const auto& [j, count] : named) want += 2 * hits[j] / count / static_cast<double>(named.size());
      const Tensor none = Tensor::zeros({0}, DType::kI64, device());
      const auto got = macro_f1(scores, Tensor::from(label, device()), {Tensor::from(index, device()), none})
                           .to_vector<double>();
      EXPECT_NEAR(got[0], want, 1e-12) << dtype << " " << c;
      EXPECT_EQ(got[1], 0);
    }
  set_poison_memory(false);
}

TEST_P(OpsMacroF1, RowsWithNanPredictNothing) {
  const Tensor scores = Tensor::from(std::vector<float>{NAN, 1, 1, NAN, 0, 1}, device()).reshape({3, 2});
  const Tensor label = Tensor::from(std::vector<std::int64_t>{0, 1, 1}, device());
  const Tensor all = Tensor::from(std::vector<std::int64_t>{0, 1, 2}, device());
  // Class 0: no hit. Class 1: one hit, one predicted, two actual.
  EXPECT_NEAR(macro_f1(scores, label, {all}).to_vector<double>()[0], (0 + 2.0 / 3) / 2, 1e-12);
}

TEST_P(OpsMacroF1, Errors) {
  const Tensor scores = Tensor::zeros({3, 2}, DType::kF32, device());
  const Tensor label = Tensor::zeros({3}, DType::kI64, device());
  EXPECT_ERROR(macro_f1(scores, label.slice(0, 2), {}), "[macro_f1] label must be i64 [3]");
  EXPECT_ERROR(macro_f1(scores, label, {Tensor::zeros({2}, DType::kF32, device())}),
               "[macro_f1] a set must be i64 [k]");
  const Tensor far = Tensor::from(std::vector<std::int64_t>{0, 9}, device());
  EXPECT_ERROR(macro_f1(scores, label, {far}).to_vector<double>(),
               "[macro_f1] index[1] = 9 is outside [0, 3)");
}

}  // namespace
}  // namespace rodeo::test
