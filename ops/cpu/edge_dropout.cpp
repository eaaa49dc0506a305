#include "ops/edge_dropout.h"

#include "ops/cpu/edges.h"
#include "ops/kernels/attention.h"
#include "ops/kernels/dropout.h"

namespace rodeo::kernels::cpu {

void edge_dropout(const Csr& a, const Tensor& x, double p, RandomKey key, std::int64_t first_head,
                  const Tensor& y) {
  dispatch_float(x.dtype(), "edge_dropout", [&]<class T>(T) {
    using Sum = Accumulator<T>;
    const auto* col = a.col.data<std::int32_t>();
    const std::int64_t heads = x.dim(1);
    const T* xp = x.data<T>();
    T* yp = y.data<T>();
    const std::uint32_t threshold = dropout_threshold(p);
    const auto scale = static_cast<Sum>(1 / (1 - p));
    for_each_row_part(a, heads, [=](std::int64_t row, std::int64_t begin, std::int64_t end) {
      for (std::int64_t e = begin; e < end; ++e)
        for (std::int64_t quad = first_head / 4; 4 * quad < first_head + heads; ++quad) {
          const Philox4 random =
              edge_words(key, static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(col[e]),
                         static_cast<std::uint32_t>(quad));
          for (int k = 0; k < 4; ++k) {
            const std::int64_t h = 4 * quad + k - first_head;
            if (h < 0 || h >= heads) continue;
            const bool kept = dropout_keeps(random.word[k], threshold);
            yp[e * heads + h] = kept ? T(load(xp[e * heads + h]) * scale) : T(Sum(0));
          }
        }
    });
  });
}

}  // namespace rodeo::kernels::cpu
