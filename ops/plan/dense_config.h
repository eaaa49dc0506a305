/// Launch configurations of elementwise kernels and column sums (ops/cuda/dense, ops/cuda/device): pure
/// functions of sizes and device properties.
#pragma once

#include <cstdint>
#include <iosfwd>

#include "core/device_properties.h"

namespace rodeo {

/// Threads of a block along a row of `groups` column groups: up to a warp, with equal tiles, so that a block
/// has few idle threads and reads whole cache lines.
std::int64_t column_tile_width(std::int64_t groups);

/// Sums over the rows of a matrix (ops/cuda/device/column_sums.cuh): a block sums `chunk` rows of `width`
/// column groups. It depends on the sizes alone, so that results do not depend on the GPU.
struct ColumnSumsConfig {
  static constexpr int kThreads = 256;
  static constexpr std::int64_t kMaxChunks =
      256;  // the last block adds as many; two a multiprocessor are plenty

  std::int64_t width, block_rows;  // of a block, in threads
  std::int64_t column_tiles;
  std::int64_t chunk, chunks;  // rows of a chunk; how many
  bool operator==(const ColumnSumsConfig&) const = default;
};
std::ostream& operator<<(std::ostream& out, const ColumnSumsConfig& config);
/// A thread has rows_in_flight rows in flight.
ColumnSumsConfig choose_column_sums(std::int64_t rows, std::int64_t groups, std::int64_t width,
                                    int rows_in_flight);

/// The epilogue of y [rows, columns]: a grid-stride launch of one wave. Aligned rows get two-dimensional
/// blocks, whose threads keep their columns' bias in registers.
struct EpilogueConfig {
  static constexpr int kThreads = 256;
  static constexpr int kQuad = 4;  // elements that share a Philox call

  enum class Kernel { kRows, kFlat, kPadded };
  Kernel kernel;
  std::int64_t block_width, block_rows;  // threads
  std::int64_t column_tiles, blocks;     // grid
  bool operator==(const EpilogueConfig&) const = default;
};
std::ostream& operator<<(std::ostream& out, const EpilogueConfig& config);
/// x is [rows, pitch]. `aligned`: x and y begin at multiples of a quad. f64 uses kPadded alone: its kernels
/// are a reference, and compile once.
EpilogueConfig choose_epilogue(std::int64_t rows, std::int64_t columns, std::int64_t pitch, bool aligned,
                               bool is_f64, const DeviceProperties& device);

/// Loss and metrics of a set of nodes: kLanes lanes share a row of scores, so that a row is read in whole
/// sectors and a warp has several rows in flight.
struct LossConfig {
  static constexpr int kThreads = 256, kLanes = 8;
  /// Four on each multiprocessor of an H200. Fixed, because the number of blocks determines the order of the
  /// sum: the loss does not depend on the GPU.
  static constexpr std::int64_t kMaxBlocks = 528;
};
std::int64_t choose_loss_blocks(std::int64_t nodes);

}  // namespace rodeo

// Kernel instances. f64 is a reference for tests and has one instance of each kernel.
//
//   kernel                      types              cases                        why
//   epilogue                    f32 bf16 f16       rows, flat, padded           rows: n % 4 = 0; flat: no
//   padding, odd n
//                               f64                padded
//   epilogue_backward           f32 bf16 f16       4 columns a thread, 1        4: n % 4 = 0, one Philox call
//                               f64                1 column a thread
//   all other dense kernels     f64 f32 bf16 f16   one
