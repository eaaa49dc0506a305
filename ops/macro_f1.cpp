#include "ops/macro_f1.h"

#include "ops/checks.h"
#include "ops/index_checks.h"
#include "ops/kernels/loss.h"

namespace rodeo {

Tensor macro_f1(const Tensor& scores, const Tensor& label, const std::vector<Tensor>& sets) {
  check_matrix("macro_f1", "scores", scores);
  check(label.defined() && label.dtype() == DType::kI64 && label.shape() == Shape{scores.dim(0)},
        "[macro_f1] label must be i64 [", scores.dim(0), "]");
  check(label.device() == scores.device(), "[macro_f1] label must be on ", scores.device(),
        " as the scores are, got ", label.device());
  const Tensor f1 = Tensor::empty({std::ssize(sets)}, DType::kF64, scores.device());
  if (!sets.empty()) f1.fill(0);
  for (std::int64_t s = 0; s < std::ssize(sets); ++s) {
    const Tensor& index = sets[static_cast<std::size_t>(s)];
    check(index.defined() && index.dtype() == DType::kI64 && index.rank() == 1,
          "[macro_f1] a set must be i64 [k]");
    check(index.device() == scores.device(), "[macro_f1] the sets must be on ", scores.device(),
          " as the scores are, got ", index.device());
    check_indices("macro_f1", "index", index, scores.dim(0));
    check_labels("macro_f1", label, index, scores.dim(1));
    if (index.numel() > 0) kernels::macro_f1.on(f1.device())(scores, label, index, f1.slice(s, s + 1));
  }
  return f1;
}

}  // namespace rodeo
