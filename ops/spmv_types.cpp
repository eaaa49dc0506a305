#include "ops/spmv_types.h"

#include <algorithm>
#include <iterator>
#include <ostream>
#include <string>

#include "core/error.h"

namespace rodeo {
namespace {

constexpr int kThreadsPerVector[] = {2, 4, 8, 16, 32};

}  // namespace

std::string name(const SpmvOptions& options) {
  const std::string algorithm(name(options.algorithm));
  return options.threads_per_vector == 0 ? algorithm
                                         : algorithm + "-" + std::to_string(options.threads_per_vector);
}

std::ostream& operator<<(std::ostream& out, const SpmvOptions& options) {
  return out << name(options);
}

SpmvOptions parse_spmv_options(std::string_view text) {
  if (const auto algorithm = kEnumNames<SpmvAlgorithm>.find(text)) return {*algorithm};
  for (const int threads : kThreadsPerVector) {
    const SpmvOptions options{SpmvAlgorithm::kVector, threads};
    if (name(options) == text) return options;
  }
  fail("unknown spmv algorithm '", text, "': expected one of ", kEnumNames<SpmvAlgorithm>.names(),
       ", or vector-2, -4, -8, -16 or -32");
}

void check_spmv_options(const SpmvOptions& options) {
  const int threads = options.threads_per_vector;
  if (threads == 0) return;
  check(std::find(std::begin(kThreadsPerVector), std::end(kThreadsPerVector), threads) !=
            std::end(kThreadsPerVector),
        "[spmv] threads_per_vector must be 2, 4, 8, 16 or 32, or 0 for the choice by mean row length, got ",
        threads);
  check(options.algorithm == SpmvAlgorithm::kVector,
        "[spmv] threads_per_vector is an option of the vector algorithm, got ", options.algorithm,
        ": set algorithm to kVector or threads_per_vector to 0");
}

}  // namespace rodeo
