#include "layers/dropout.h"

#include "ops/dense.h"

namespace rodeo {
namespace {

Random generator_of(RandomKey key) {
  const Philox4 words = philox(key.seed, key.stream, 0);
  return Random(words.word[0] | std::uint64_t{words.word[1]} << 32);
}

}  // namespace

Dropout::Dropout(double p, Random& random) : p_(p), random_(generator_of(random.next())) {
  check(p >= 0 && p < 1, "[dropout] p must be in [0, 1), got ", p);
}

Variable Dropout::forward(const Variable& x) {
  return training() && p_ > 0 ? dropout(x, p_, random_.next()) : x;
}

}  // namespace rodeo
