#include <vector>

#include "ops/cpu/loops.h"
#include "ops/kernels/loss.h"

namespace rodeo::kernels::cpu {

void macro_f1(const Tensor& scores, const Tensor& label, const Tensor& index, const Tensor& f1) {
  const std::int64_t c = scores.dim(1);
  struct Counts {
    std::int64_t hits = 0, named = 0;  // named: predicted and actual nodes together
  };
  std::vector<Counts> counts(static_cast<std::size_t>(c));
  dispatch_float(scores.dtype(), "macro_f1", [&]<class T>(T) {
    for (std::int64_t k = 0; k < index.numel(); ++k) {
      const std::int64_t node = index.data<std::int64_t>()[k];
      const auto actual = static_cast<std::size_t>(label.data<std::int64_t>()[node]);
      const T* row = scores.data<T>() + node * c;
      std::int64_t best = 0;
      bool has_nan = false;
      for (std::int64_t j = 0; j < c; ++j) {
        has_nan |= load(row[j]) != load(row[j]);
        if (load(row[j]) > load(row[best])) best = j;
      }
      ++counts[actual].named;
      if (has_nan) continue;
      const auto predicted = static_cast<std::size_t>(best);
      ++counts[predicted].named;
      if (predicted == actual) ++counts[actual].hits;
    }
  });
  double sum = 0;
  std::int64_t classes = 0;
  for (const Counts& of : counts) {
    if (of.named == 0) continue;
    sum += 2 * static_cast<double>(of.hits) / static_cast<double>(of.named);
    ++classes;
  }
  f1.data<double>()[0] = sum / static_cast<double>(classes);
}

}  // namespace rodeo::kernels::cpu
