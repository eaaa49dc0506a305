/// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
/// SC 2011). A number is a function of (seed, stream, index). The CPU and all GPU threads therefore draw the
/// same numbers in any order, and a dropout mask can be recomputed instead of stored.
#pragma once

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define RODEO_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define RODEO_HOST_DEVICE inline
#endif

namespace rodeo {

/// a b, 64 bits. Inline PTX, because nvcc compiles the plain product to an extra addition.
RODEO_HOST_DEVICE std::uint64_t wide_product(std::uint32_t a, std::uint32_t b) {
#ifdef __CUDA_ARCH__
  std::uint64_t product;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
  return product;
#else
  return std::uint64_t{a} * b;
#endif
}

struct Philox4 {
  std::uint32_t word[4];
};

/// Four independent 32-bit words for counter (index, stream) under key `seed`.
RODEO_HOST_DEVICE Philox4 philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  std::uint32_t c0 = static_cast<std::uint32_t>(index), c1 = static_cast<std::uint32_t>(index >> 32);
  std::uint32_t c2 = static_cast<std::uint32_t>(stream), c3 = static_cast<std::uint32_t>(stream >> 32);
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = wide_product(0xD2511F53, c0), p1 = wide_product(0xCD9E8D57, c2);
    c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(p1);
    c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(p0);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {{c0, c1, c2, c3}};
}

/// The word of element `index`: elements 4i .. 4i+3 share one Philox call.
RODEO_HOST_DEVICE std::uint32_t random_word(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return philox(seed, stream, index >> 2).word[index & 3];
}

/// Uniform in [0, 1): the upper 24 bits, exact in float.
RODEO_HOST_DEVICE float to_unit(std::uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1p-24f;
}

/// lo + (hi - lo) u with one rounding, so that both backends agree to the bit.
RODEO_HOST_DEVICE float uniform_between(float lo, float hi, std::uint32_t word) {
  return ::fmaf(hi - lo, to_unit(word), lo);
}

/// Identifies one array of random numbers.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  /// Number of completed steps, on the device that draws the numbers; null outside of a RandomStep. Kernels
  /// read it when they run, so that every replay of a CUDA graph draws new numbers.
  const std::int64_t* step = nullptr;
  /// The array is the rows from `first_row` on of a larger one, and draws their numbers: a rank draws the
  /// mask of its nodes. Matrices need a multiple of 4, because four elements share one Philox call.
  std::int64_t first_row = 0;

  /// Streams of training steps have a non-zero upper half, those outside of steps a zero one.
  RODEO_HOST_DEVICE std::uint64_t stream_now() const {
    return step ? stream + ((static_cast<std::uint64_t>(*step) + 1) << 32) : stream;
  }
};

/// RAII guard: every Random of this thread returns the keys of one training step, key 0, key 1, ... of step
/// *done + 1. The masks of a step depend on seed, step and position only, not on earlier steps.
class RandomStep {
 public:
  /// `done` is in the memory of the device that draws the numbers, and must outlive their use.
  /// `first_row` is that of all keys of the step.
  explicit RandomStep(const std::int64_t* done, std::int64_t first_row = 0);
  ~RandomStep();
  RandomStep(const RandomStep&) = delete;
  RandomStep& operator=(const RandomStep&) = delete;

 private:
  friend class Random;
  const std::int64_t* done_;
  std::int64_t first_row_;
  std::uint64_t id_;
  RandomStep* outer_;
};

/// Returns keys: one seed, a new stream for every array. A copy continues with the same keys.
class Random {
 public:
  explicit Random(std::uint64_t seed = 0) : seed_(seed) {}
  RandomKey next();

 private:
  std::uint64_t seed_;
  std::uint64_t stream_ = 0;
  std::uint64_t step_ = 0;      // id of the RandomStep of the last key
  std::uint64_t position_ = 0;  // of the next key in that step
};

}  // namespace rodeo
