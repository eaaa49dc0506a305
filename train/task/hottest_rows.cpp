#include "train/task/hottest_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "core/device.h"
#include "core/memory_stats.h"
#include "core/over_ranks.h"
#include "core/rank_memory.h"
#include "ops/gather_rows.h"

namespace rodeo {
namespace {

constexpr double kCacheOfDevice = 0.5;  // of its free memory
constexpr std::size_t kCounted = 32;    // batches

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

std::int64_t cached_rows(const Shape& shape, DType dtype, Device device, const TrainOptions& options) {
  const auto row_bytes =
      static_cast<double>(std::max<std::int64_t>(1, shape[1] * static_cast<std::int64_t>(size_of(dtype))));
  double bytes = 0;
  if (options.feature_cache_mib >= 0)
    bytes = std::ldexp(static_cast<double>(options.feature_cache_mib), 20);
  else if (device.is_cuda())
    bytes = kCacheOfDevice * static_cast<double>(memory_room(device).free);
  return std::min(shape[0], static_cast<std::int64_t>(bytes / row_bytes));
}

/// count: the most rows of the cache. reads: of each row; negative ones are of rows that need no cache
HottestRows hottest_rows(const std::function<Tensor(const Tensor& index)>& gather, std::int64_t count,
                         const std::vector<std::int32_t>& reads, Device device, const TrainOptions& options) {
  HottestRows out;
  while (!out.cache.defined()) try {
      out.cache = cache_rows(gather, reads, count, device);
    } catch (const OutOfMemory&) {  // what is free may be in pieces
      if (options.feature_cache_mib >= 0 || count == 0) throw;
      synchronize(device);
      count /= 2;
    }
  const std::vector<std::int32_t> slot = out.cache.slot.to_vector<std::int32_t>();
  double all = 0, cached = 0, rows = 0;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    if (reads[i] < 0) continue;
    all += reads[i], ++rows;
    if (slot[i] >= 0) cached += reads[i];
  }
  out.share = all > 0 ? cached / all : static_cast<double>(count) / rows;
  return out;
}

/// place: where the rows are, which the text begins with
HottestRows hottest_rows(const std::string& place, const std::function<Tensor(const Tensor& index)>& gather,
                         const Shape& shape, DType dtype, Device device, const MiniBatchTraining& training,
                         const TrainOptions& options) {
  const std::int64_t count = cached_rows(shape, dtype, device, options);
  std::int32_t counts = count > 0;
  if (training.sampler.graph().is_sharded())  // sampling is a collective call: if one rank needs it, all do
    counts = over_ranks(training.ranks, std::vector{counts}, Reduction::kMax)[0];
  HottestRows out = hottest_rows(gather, count,
                                 counts > 0 ? count_reads(training, shape[0])
                                            : std::vector<std::int32_t>(static_cast<std::size_t>(shape[0])),
                                 device, options);
  out.text = place;
  if (const std::int64_t cached = out.cache.rows.dim(0); cached > 0)
    out.text +=
        fmt::format("; {} has {:.1f} % of the rows, for {:.1f} % of the reads",
                    device.is_cuda() ? "the device" : "a copy",
                    100 * static_cast<double>(cached) / static_cast<double>(shape[0]), 100 * out.share);
  return out;
}

/// Throws OutOfMemory on all ranks if one of them throws it.
Tensor allocate_on_all(const Communicator& ranks, const Shape& shape, DType dtype, Device device) {
  Tensor out;
  std::int32_t failed = 0;
  try {
    out = Tensor::empty(shape, dtype, device);
  } catch (const OutOfMemory&) {
    failed = 1;
  }
  if (over_ranks(ranks, std::vector{failed}, Reduction::kMax)[0] != 0)
    throw OutOfMemory(str("[ranks] a rank has no memory for ", shape, " ", dtype));
  return out;
}

}  // namespace

HottestRows hottest_rows(const Tensor& x, const MiniBatchTraining& training, const TrainOptions& options) {
  std::string place = fmt::format("in host memory, {}{}", x.device().is_cuda() ? "page-locked " : "",
                                  format_bytes(static_cast<double>(x.nbytes())));
  if (const int ranks = ranks_of_host(training.ranks).size; ranks > 1)
    place += fmt::format(" shared by {} ranks", ranks);
  return hottest_rows(
      place, [&](const Tensor& index) { return gather_rows(x, index); }, x.shape(), x.dtype(), x.device(),
      training, options);
}

HottestRows hottest_rows(DiskFeatures& x, const MiniBatchTraining& training, const TrainOptions& options) {
  const double bytes = static_cast<double>(x.shape().numel()) * static_cast<double>(size_of(x.file_dtype()));
  HottestRows out = hottest_rows(
      "in the file, " + format_bytes(bytes), [&](const Tensor& index) { return x.read_in_pieces(index); },
      x.shape(), x.dtype(), x.device(), training, options);
  if (out.cache.rows.dim(0) > 0) x.set_cache(out.cache);
  return out;
}

HottestRows hottest_rows(PeerRows& x, const MiniBatchTraining& training, const TrainOptions& options) {
  const NodePartition& nodes = x.nodes();
  const std::int64_t rows = nodes.num_nodes(), most = std::ranges::max(nodes.rows());
  const DType dtype = x.own().dtype();
  const Device device = x.own().device();
  const std::int64_t least = std::min(rows - most, cached_rows(x.shape(), dtype, device, options)),
                     count = -over_ranks(nodes.ranks(), std::vector{-least}, Reduction::kMax)[0];
  std::vector<std::int32_t> reads(static_cast<std::size_t>(rows));
  if (count > 0) reads = count_reads(training, rows);
  std::fill_n(reads.begin() + nodes.first_row(), nodes.num_rows(), -1);
  const auto gather = [&](const Tensor& index) {
    const Tensor out = allocate_on_all(nodes.ranks(), {index.numel(), x.shape()[1]}, dtype, device);
    x.read_in_pieces(index, out);
    return out;
  };
  HottestRows out = hottest_rows(gather, count, reads, device, options);
  out.text = fmt::format("cut among {} ranks, {} on this one", nodes.ranks().size(),
                         format_bytes(static_cast<double>(x.own().nbytes())));
  if (out.cache.rows.dim(0) == 0) return out;
  out.text += fmt::format(
      ", which has {:.1f} % of the other rows too, for {:.1f} % of their reads",
      100 * static_cast<double>(out.cache.rows.dim(0)) / static_cast<double>(rows - nodes.num_rows()),
      100 * out.share);
  x.set_cache(out.cache);
  return out;
}

}  // namespace rodeo
