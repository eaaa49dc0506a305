#include "bench/verify.h"

#include "core/storage.h"

namespace rodeo::bench {
namespace {

constexpr double kPeerSlack = 8;  // cuSPARSE may round partial sums to 16 bits: less exact, but not wrong
constexpr double kGrosslyOff = 0.05;

// The error of an f32 sum grows with the row length. 16-bit tolerances are at least twice the rounding error
// of the result. TF32 rounds up to three factors of a term, by 2^-11 each. A lost nonzero of a row of L moves
// an element by about 1 / sqrt(L): 0.003 in a row of 100,000.
Distance tolerance_of(DType dtype, bool tf32) {
  switch (dtype) {
    case DType::kF64:
      return {1e-12, 1e-11, 1e-10};
    case DType::kF32:
      return tf32 ? Distance{5e-4, 1.5e-3, 5e-3} : Distance{1e-5, 1e-4, 5e-4};
    case DType::kF16:
      return {0x1p-10, 0x1p-10, 0x1p-9};
    default:
      return {0x1p-8, 0x1p-8, 0x1p-7};
  }
}

// Also false for NaN.
bool within(const Distance& off, const Distance& allowed, double slack) {
  return off.total <= slack * allowed.total && off.row <= slack * allowed.row &&
         off.element <= slack * allowed.element;
}

// While one exists, new allocations are filled with NaN.
struct Poison {
  Poison() { set_poison_memory(true); }
  ~Poison() { set_poison_memory(false); }
};

}  // namespace

std::string_view mark(Verdict verdict) {
  return verdict == Verdict::kRight ? "" : verdict == Verdict::kInexact ? "inexact" : "WRONG";
}

Verification verify(const Kernel& kernel, const Problem& p, const Run& run) {
  const Tensor result = [&] {
    const Poison poison;
    return run();
  }();
  const Distance off = distance_to_float64(p, result), allowed = tolerance_of(result.dtype(), kernel.tf32);
  const double slack = kernel.peer ? kPeerSlack : 1;
  if (within(off, allowed, slack)) return {Verdict::kRight, off, {}};
  const bool inexact = kernel.peer && off.total < kGrosslyOff;
  return {
      inexact ? Verdict::kInexact : Verdict::kWrong, off,
      str(inexact ? "inexact" : "wrong", " result: ", name(p.op), " ", kernel.name, " ", p.dtype,
          p.weight.defined() ? " weighted" : "", ", n = ", p.n, ": off by ", off.total,
          " of the norm, at most ", slack * allowed.total, "; in one row by ", off.row, ", at most ",
          slack * allowed.row, "; in one element by ", off.element, ", at most ", slack * allowed.element)};
}

}  // namespace rodeo::bench
