#include "ops/spmv_types.h"

#include <algorithm>
#include <iterator>
#include <ostream>
#include <string>
#include <utility>

#include "core/error.h"

namespace rodeo {
namespace {

constexpr std::pair<SpmvAlgorithm, std::string_view> kNames[] = {{SpmvAlgorithm::kAuto, "auto"},
                                                                 {SpmvAlgorithm::kVector, "vector"},
                                                                 {SpmvAlgorithm::kRode, "rode"},
                                                                 {SpmvAlgorithm::kStream, "stream"},
                                                                 {SpmvAlgorithm::kSegmented, "segmented"}};

constexpr int kThreadsPerVector[] = {2, 4, 8, 16, 32};

std::string choices_of_algorithm() {
  std::string choices;
  for (const auto& [value, known] : kNames) choices += (choices.empty() ? "" : ", ") + std::string(known);
  return choices;
}

}  // namespace

std::string_view name(SpmvAlgorithm algorithm) {
  for (const auto& [value, text] : kNames)
    if (value == algorithm) return text;
  return "?";
}

std::ostream& operator<<(std::ostream& out, SpmvAlgorithm algorithm) {
  return out << name(algorithm);
}

SpmvAlgorithm parse_spmv_algorithm(std::string_view text) {
  for (const auto& [value, known] : kNames)
    if (known == text) return value;
  fail("unknown spmv algorithm '", text, "': expected one of ", choices_of_algorithm());
}

std::string name(const SpmvOptions& options) {
  const std::string algorithm(name(options.algorithm));
  return options.threads_per_vector == 0 ? algorithm
                                         : algorithm + "-" + std::to_string(options.threads_per_vector);
}

std::ostream& operator<<(std::ostream& out, const SpmvOptions& options) {
  return out << name(options);
}

SpmvOptions parse_spmv_options(std::string_view text) {
  for (const auto& [value, known] : kNames)
    if (known == text) return {value};
  for (const int threads : kThreadsPerVector) {
    const SpmvOptions options{SpmvAlgorithm::kVector, threads};
    if (name(options) == text) return options;
  }
  fail("unknown spmv algorithm '", text, "': expected one of ", choices_of_algorithm(),
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
