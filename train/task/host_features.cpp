#include "train/task/host_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/device.h"
#include "core/memory_stats.h"

namespace rodeo {
namespace {

constexpr double kMostOfDevice = 0.6, kCacheOfDevice = 0.5;  // of its free memory
constexpr std::size_t kCounted = 32;                         // batches

/// How often each row is read, [rows].
std::vector<std::int32_t> count_reads(const MiniBatchTraining& training, std::int64_t rows) {
  std::vector<std::int32_t> reads(static_cast<std::size_t>(rows));
  if (training.parts) return reads;   // reads all rows alike
  constexpr std::int64_t kEpoch = 0;  // training begins with epoch 1
  std::vector<Tensor> batches = training.batches.epoch(kEpoch);
  batches.resize(std::min(batches.size(), kCounted));
  for (std::size_t at = 0; at < batches.size(); ++at) {
    const Tensor inputs =
        training.sampler.sample_checked(batches[at], kEpoch, static_cast<std::int64_t>(at)).inputs();
    for (const std::int64_t row : inputs.to_vector<std::int64_t>()) ++reads[static_cast<std::size_t>(row)];
  }
  return reads;
}

std::int64_t cached_rows(const Tensor& x, const TrainOptions& options) {
  const auto row_bytes =
      static_cast<double>(std::max<std::int64_t>(1, x.nbytes() / std::max<std::int64_t>(1, x.dim(0))));
  double bytes = 0;
  if (options.feature_cache_mib >= 0)
    bytes = std::ldexp(static_cast<double>(options.feature_cache_mib), 20);
  else if (x.device().is_cuda())
    bytes = kCacheOfDevice * static_cast<double>(memory_room(x.device()).free);
  return std::min(x.dim(0), static_cast<std::int64_t>(bytes / row_bytes));
}

}  // namespace

bool keeps_features_on_host(const TrainOptions& options, std::int64_t rows, std::int64_t columns,
                            Device device) {
  if (options.batch == 0 || options.features_on == FeaturesOn::kDevice) return false;
  if (options.features_on == FeaturesOn::kHost) return true;
  const double bytes = static_cast<double>(rows) * static_cast<double>(columns) *
                       static_cast<double>(size_of(activation_dtype(options.precision)));
  return device.is_cuda() && bytes > kMostOfDevice * static_cast<double>(memory_room(device).free);
}

HottestRows hottest_rows(const Tensor& x, const MiniBatchTraining& training, const TrainOptions& options) {
  const std::vector<std::int32_t> reads = count_reads(training, x.dim(0));
  std::int64_t count = cached_rows(x, options);
  HottestRows out;
  while (!out.cache.defined()) try {
      out.cache = cache_rows(x, reads, count);
    } catch (const OutOfMemory&) {  // what is free may be in pieces
      if (options.feature_cache_mib >= 0 || count == 0) throw;
      synchronize(x.device());
      count /= 2;
    }
  const std::vector<std::int32_t> slot = out.cache.slot.to_vector<std::int32_t>();
  double all = 0, cached = 0;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    all += reads[i];
    if (slot[i] >= 0) cached += reads[i];
  }
  out.share = all > 0 ? cached / all : static_cast<double>(count) / static_cast<double>(x.dim(0));
  return out;
}

std::string describe(const Tensor& x, const HottestRows& hottest) {
  const std::string size = format_bytes(static_cast<double>(x.nbytes()));
  const std::string place =
      x.device().is_cuda() ? fmt::format("in host memory, page-locked {}", size) : "in host memory, " + size;
  if (hottest.cache.rows.dim(0) == 0) return place;
  return fmt::format("{}; {} has {:.1f} % of the rows, for {:.1f} % of the reads", place,
                     x.device().is_cuda() ? "the device" : "a copy",
                     100 * static_cast<double>(hottest.cache.rows.dim(0)) / static_cast<double>(x.dim(0)),
                     100 * hottest.share);
}

}  // namespace rodeo
