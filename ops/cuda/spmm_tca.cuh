/// One warp of TCA-SpMM: a stream of jobs (ops/tca_plan.h) on one tile of columns.
#pragma once

#include "ops/cuda/gather.cuh"
#include "ops/cuda/mma.cuh"
#include "ops/tca_map.h"

namespace rodeo::kernels::cuda {

/// Jobs of rows that use the same packing. Column tiles are the slow dimension.
struct TcaGroup {
  std::int64_t first_job, jobs;
  unsigned first_warp, warps_of_tile, tiles;
};

struct TcaArgs {
  const std::int32_t *job_row, *job_length, *job_split;
  const std::int64_t *job_begin, *split_slot;
  std::int64_t pieces;  // jobs of rows longer than a chunk: the first of all
  unsigned row_bytes;   // of X
  float* partial;       // [slots, n]
  int* arrived;         // [split rows, tiles], zero
  TcaGroup group[4];    // rows of more than 32 nonzeros, up to 32, up to 16, up to 8
};

/// How many jobs a warp takes, one after the other, so that the columns and rows of the next are on their way
/// while it works on one.
constexpr int kTcaBatch = 8;
constexpr int tca_batch(int sub_rows) {
  return sub_rows == 8 ? kTcaBatch / 2 : kTcaBatch;
}

struct TcaJob {
  std::int64_t begin;
  std::int32_t row, length, split;
};

/// What a warp has in shared memory.
template <class T>
struct TcaScratch {
  static constexpr int kVec = 16 / sizeof(T);             // columns of a piece
  static constexpr int kPitch = tca::kPieces * kVec + 4;  // so that the diagonals lie in different banks
  alignas(16) float diagonal[8][kPitch];                  // [quad][column]: the output buffer
  TcaJob job[kTcaBatch];
};

/// The loads of the pipeline: without a branch, and in the order of the program.

/// One element that is read once (of 16 bits it fills the lower half), or `otherwise` where `test` is
/// negative.
template <class T>
__device__ __forceinline__ Word load_unless_negative(const T* p, int test, Word otherwise) {
  Word out;
  if constexpr (sizeof(T) == 2)
    asm volatile(
        "{\n"
        ".reg .pred wanted;\n"
        "setp.ge.s32 wanted, %2, 0;\n"
        "mov.b32 %0, %3;\n"
        "@wanted ld.global.cs.u16 %0, [%1];\n"
        "}"
        : "=&r"(out)
        : "l"(p), "r"(test), "r"(otherwise));
  else
    asm volatile(
        "{\n"
        ".reg .pred wanted;\n"
        "setp.ge.s32 wanted, %2, 0;\n"
        "mov.b32 %0, %3;\n"
        "@wanted ld.global.cs.b32 %0, [%1];\n"
        "}"
        : "=&r"(out)
        : "l"(p), "r"(test), "r"(otherwise));
  return out;
}

/// Sixteen bytes, or zeros.
__device__ __forceinline__ void load_unless_negative(Word (&word)[4], const char* p, int test) {
  asm volatile(
      "{\n"
      ".reg .pred wanted;\n"
      "setp.ge.s32 wanted, %5, 0;\n"
      "mov.b32 %0, 0;\n"
      "mov.b32 %1, 0;\n"
      "mov.b32 %2, 0;\n"
      "mov.b32 %3, 0;\n"
      "@wanted ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];\n"
      "}"
      : "=&r"(word[0]), "=&r"(word[1]), "=&r"(word[2]), "=&r"(word[3])
      : "l"(p), "r"(test));
}

template <class T, int kSubRows, bool kWeighted>
class TcaWarp {
  using Map = tca::Packing<kSubRows>;
  using Scratch = TcaScratch<T>;
  static constexpr int kPieces = tca::kPieces, kVec = Scratch::kVec;
  static constexpr int kWords = Mma<T>::kWords;                       // of a product's two columns
  static constexpr int kProducts = kPieces * kVec / 2;                // MMAs of a step
  static constexpr int kOut = kVec / kSubRows ? kVec / kSubRows : 1;  // columns that a lane writes

 public:
  static constexpr int kWidth = kVec * Map::kPiecesOfTile;  // columns of a tile

  __device__ TcaWarp(const SpmmArgs<T>& args, const TcaArgs& tca, const TcaGroup& group, unsigned warp,
                     Scratch& scratch)
      : args_(args), tca_(tca), scratch_(scratch), tiles_(group.tiles), tile_(warp / group.warps_of_tile) {
    const std::int64_t first = static_cast<std::int64_t>(warp % group.warps_of_tile) * tca_batch(kSubRows),
                       left = group.jobs - first;
    count_ = left < tca_batch(kSubRows) ? static_cast<int>(left) : tca_batch(kSubRows);
    x_ = reinterpret_cast<const char*>(args.x + first_column());
    for (int slot = 0; slot < kPieces; ++slot)
      if (first_column() + column_of(slot) >= args.stride) idle_ |= 0x80000000u >> slot;
    if (lane_ < count_) {
      const std::int64_t job = group.first_job + first + lane_;
      scratch.job[lane_] = {tca.job_begin[job], tca.job_row[job], tca.job_length[job],
                            kSubRows == 8 && job < tca.pieces ? tca.job_split[job] : -1};
    }
    __syncwarp();
  }

  /// Two steps are under way besides the one that is multiplied: the next one's rows of X, and the columns
  /// of the one after that.
  __device__ void run() {
    start_job(0);
    Step now = fetch(), next = fetch();
    Rows a, b;
    gather(a, now);
    while (turn(now, next, a, b) && turn(now, next, b, a)) {
    }
  }

 private:
  /// The lane's two nonzeros of a chunk; column -1 where the row has ended: do not fetch.
  struct Step {
    std::int32_t col[2];
    Word weight[2];
    int job;
    bool last;  // of its job
  };
  struct Rows {
    Word word[2][4][kPieces];  // [nonzero][word of a piece][piece]
  };

  __device__ void start_job(int job) {
    cursor_job_ = job, cursor_at_ = 0, cursor_length_ = 0;
    if (job >= count_) return;
    cursor_begin_ = scratch_.job[job].begin;
    cursor_length_ = scratch_.job[job].length;
  }

  /// An empty row is a step without nonzeros: it is written as any other.
  __device__ Step fetch() {
    Step step;
    step.job = cursor_job_;
    const int at = cursor_at_ + Map::nonzero(lane_, 0);
    const std::int64_t e = cursor_begin_ + at;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int test = cursor_length_ - at - h - 1;
      step.col[h] = static_cast<std::int32_t>(load_unless_negative(args_.col + e + h, test, ~0u));
      step.weight[h] = Mma<T>::kOne;  // beyond the row's end too: the left operand is zero there
      if constexpr (kWeighted) step.weight[h] = load_unless_negative(args_.weight + e + h, test, 0);
    }
    cursor_at_ += Map::kNonzeros;
    step.last = cursor_at_ >= cursor_length_;
    if (step.last) start_job(cursor_job_ + 1);
    return step;
  }

  /// Where in the tile what the lane loads into a slot begins.
  __device__ int column_of(int slot) const {
    return kVec * Map::piece(lane_, Map::destined_for(lane_, slot));
  }

  __device__ void load_piece(Word (&word)[4], std::int32_t col, int slot) const {
    const char* p = x_ + static_cast<std::uint64_t>(static_cast<unsigned>(col)) * tca_.row_bytes +
                    column_of(slot) * sizeof(T);
    load_unless_negative(word, p, col | static_cast<int>(idle_ << slot));
  }

  __device__ void gather(Rows& rows, const Step& step) const {
#pragma unroll
    for (int slot = 0; slot < kPieces; ++slot)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        std::int32_t col = step.col[h];
        if constexpr (Map::kExchange > 1) col = __shfl_sync(kFullMask, col, Map::needed_by(lane_, slot));
        Word word[4];
        load_piece(word, col, slot);
#pragma unroll
        for (int i = 0; i < 4; ++i) rows.word[h][i][slot] = word[i];
      }
  }

  __device__ void consume(Rows& rows, const Step& step) {
    if constexpr (Map::kExchange > 1) {
#pragma unroll
      for (int h = 0; h < 2; ++h)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          Map::rotate(rows.word[h][i], lane_);
#pragma unroll
          for (int slot = 1; slot < kPieces; ++slot)
            if (slot & Map::kMask)
              rows.word[h][i][slot] = __shfl_xor_sync(kFullMask, rows.word[h][i][slot], slot & Map::kMask);
        }
    }
#pragma unroll
    for (int slot = 0; slot < kPieces; ++slot) {
      // Wide tiles may hang over the last column by whole slots.
      if (Map::kExchange == 1 && first_column() + slot * Map::kGroups * kVec >= args_.stride) break;
#pragma unroll
      for (int i = 0; i < 4; i += kWords) {
        Word first[kWords], second[kWords];
#pragma unroll
        for (int k = 0; k < kWords; ++k)
          first[k] = rows.word[0][i + k][slot], second[k] = rows.word[1][i + k][slot];
        Mma<T>::add(sum_[(slot * 4 + i) / kWords], first, second, step.weight);
      }
    }
    if (step.last) finish(step.job);
  }

  __device__ bool turn(Step& now, Step& next, Rows& ready, Rows& coming) {
    const Step after = fetch();
    gather(coming, next);
    consume(ready, now);
    now = next, next = after;
    return now.job < count_;
  }

  /// The diagonals meet in the output buffer; each lane sums up and writes neighbouring columns.
  __device__ void finish(int job) {
    const int quad = lane_ / 4;
    __syncwarp();
    if (lane_ == tca::diagonal_lane(quad)) {
      const bool odd = tca::diagonal_element(quad) != 0;
#pragma unroll
      for (int m = 0; m < kProducts; m += 2)
        *reinterpret_cast<float4*>(&scratch_.diagonal[quad][2 * m]) =
            make_float4(odd ? sum_[m][1] : sum_[m][0], odd ? sum_[m][3] : sum_[m][2],
                        odd ? sum_[m + 1][1] : sum_[m + 1][0], odd ? sum_[m + 1][3] : sum_[m + 1][2]);
    }
    __syncwarp();
    const int column = lane_ * kOut;
    Pack<float, kOut> out = {};
    if (column < kWidth) {
      const auto* diagonal = scratch_.diagonal + Map::first_quad(column, kVec);
      const int first = Map::value_of(column, kVec);
#pragma unroll
      for (int s = 0; s < kSubRows; ++s)
#pragma unroll
        for (int v = 0; v < kOut; ++v) out.value[v] += diagonal[s][first + v];
    }
    bool complete = true;
    if constexpr (kSubRows == 8) {
      if (scratch_.job[job].split >= 0) complete = combine(scratch_.job[job], out.value[0]);
    }
    if (complete && column < kWidth) write(scratch_.job[job].row, first_column() + column, out);
#pragma unroll
    for (int m = 0; m < kProducts; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i) sum_[m][i] = 0;
  }

  /// Leaves a piece's sums; true for the warp that finds all others of its row done, which then has the
  /// row's.
  __device__ bool combine(const TcaJob& job, float& value) const {
    static_assert(kSubRows != 8 || kOut == 1);
    const std::int64_t split = job.split, first = tca_.split_slot[split], column = first_column() + lane_;
    const int count = static_cast<int>(tca_.split_slot[split + 1] - first);
    const std::int64_t mine = first + (job.begin - args_.row_ptr[job.row]) / TcaPlan::kSplit;
    const bool active = lane_ < kWidth && column < args_.stride;
    if (active) tca_.partial[mine * args_.stride + column] = value;
    __threadfence();
    __syncwarp();
    int before = 0;
    if (lane_ == 0) before = atomicAdd(tca_.arrived + split * tiles_ + tile_, 1);
    if (__shfl_sync(kFullMask, before, 0) != count - 1) return false;
    __threadfence();
    value = 0;
    if (active) {
#pragma unroll 8
      for (int i = 0; i < count; ++i) value += __ldcg(tca_.partial + (first + i) * args_.stride + column);
    }
    return true;
  }

  __device__ void write(std::int64_t row, std::int64_t column, const Pack<float, kOut>& sums) const {
    T* y = args_.y + row * args_.k + column;
    if (args_.whole_vectors) {
      Pack<T, kOut> out;
#pragma unroll
      for (int v = 0; v < kOut; ++v) out.value[v] = static_cast<T>(sums.value[v]);
      if (column < args_.k) *reinterpret_cast<Pack<T, kOut>*>(y) = out;
    } else {
#pragma unroll
      for (int v = 0; v < kOut; ++v)
        if (column + v < args_.k) y[v] = static_cast<T>(sums.value[v]);
    }
  }

  __device__ std::int64_t first_column() const {
    return static_cast<std::int64_t>(tile_) * kWidth;
  }

  const SpmmArgs<T>& args_;
  const TcaArgs& tca_;
  Scratch& scratch_;
  const int lane_ = threadIdx.x % kWarp;
  unsigned tiles_, tile_;
  int count_;                   // of jobs
  const char* x_;               // the tile in row 0
  unsigned idle_ = 0;           // from the top bit down: slots whose columns X does not have
  int cursor_job_, cursor_at_;  // where fetch() stands
  std::int64_t cursor_begin_ = 0;
  std::int32_t cursor_length_;
  float sum_[kProducts][4] = {};
};

}  // namespace rodeo::kernels::cuda
