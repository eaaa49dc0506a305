/// Properties of GPUs, for tests of launch configurations on machines without them.
#pragma once

#include "core/device_properties.h"

namespace rodeo::test {

inline constexpr DeviceProperties kH200{.compute_capability = 90,
                                        .num_multiprocessors = 132,
                                        .threads_per_multiprocessor = 2048,
                                        .l2_bytes = 62914560,
                                        .shared_bytes_per_block = 232448,
                                        .shared_bytes_per_multiprocessor = 233472};

inline constexpr DeviceProperties kA100{.compute_capability = 80,
                                        .num_multiprocessors = 108,
                                        .threads_per_multiprocessor = 2048,
                                        .l2_bytes = 41943040,
                                        .shared_bytes_per_block = 166912,
                                        .shared_bytes_per_multiprocessor = 167936};

inline constexpr DeviceProperties kRtx4090{.compute_capability = 89,
                                           .num_multiprocessors = 128,
                                           .threads_per_multiprocessor = 1536,
                                           .l2_bytes = 75497472,
                                           .shared_bytes_per_block = 101376,
                                           .shared_bytes_per_multiprocessor = 102400};

}  // namespace rodeo::test
