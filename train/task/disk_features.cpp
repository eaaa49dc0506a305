#include "train/task/disk_features.h"

#include <algorithm>
#include <utility>

#include "ops/combine.h"
#include "ops/gather_rows.h"

namespace rodeo {

/// Rows that are being read. Those of the cache come first, then those of the file.
struct DiskFeatures::Begun {
  std::unique_ptr<UploadBuffer> buffer;  // outlives `reading`, which fills it
  std::unique_ptr<FeatureFile::Reading> reading;
  std::int64_t from_file = 0;
  std::vector<std::int64_t> from_cache;  // rows of cache.rows
  std::vector<std::int64_t> order;       // of the result, where both have rows
};

DiskFeatures::DiskFeatures(const std::string& path, FeatureScale scale, DType dtype, Device device)
    : file_(path), scale_(std::move(scale)), dtype_(dtype), device_(device) {}

void DiskFeatures::set_cache(RowCache cache) {
  check(!cache.defined() || (cache.slot.numel() == shape()[0] && cache.rows.dim(1) == shape()[1] &&
                             cache.rows.dtype() == dtype_ && cache.rows.device() == device_),
        "[disk_features] the cache is not one of ", shape(), " ", dtype_, " on ", device_);
  cache_ = std::move(cache);
  slot_ = cache_.defined() ? cache_.slot.to_vector<std::int32_t>() : std::vector<std::int32_t>();
}

std::unique_ptr<UploadBuffer> DiskFeatures::free_buffer() const {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return std::make_unique<UploadBuffer>(device_);
  std::unique_ptr<UploadBuffer> buffer = std::move(free_.front());  // the one that was sent first
  free_.erase(free_.begin());
  return buffer;
}

std::function<Tensor()> DiskFeatures::read(const Tensor& index) const {
  std::vector<std::int64_t> row = index.to_vector<std::int64_t>();
  const auto begun = std::make_shared<Begun>();
  if (!slot_.empty()) {
    std::vector<std::int64_t> missing;
    begun->order.reserve(row.size());
    for (const std::int64_t r : row) {
      check(r >= 0 && r < shape()[0], "[disk_features] row ", r, " is outside [0, ", shape()[0], ")");
      const std::int32_t slot = slot_[static_cast<std::size_t>(r)];
      std::vector<std::int64_t>& to = slot >= 0 ? begun->from_cache : missing;
      begun->order.push_back(slot >= 0 ? std::ssize(to) : -1 - std::ssize(to));
      to.push_back(slot >= 0 ? slot : r);
    }
    for (std::int64_t& place : begun->order)
      if (place < 0) place = std::ssize(begun->from_cache) - 1 - place;
    row = std::move(missing);
  }
  begun->from_file = std::ssize(row);
  if (begun->from_file > 0) {
    const std::int64_t bytes =
        begun->from_file * shape()[1] * static_cast<std::int64_t>(size_of(file_.dtype()));
    begun->buffer = free_buffer();
    void* const memory = begun->buffer->get(static_cast<std::size_t>(bytes));
    begun->reading = file_.start(std::move(row), memory);
  }
  return [this, begun] { return finish(*begun); };
}

Tensor DiskFeatures::finish(Begun& begun) const {
  const std::int64_t columns = shape()[1], cached = std::ssize(begun.from_cache), read = begun.from_file;
  const Tensor slots = cached > 0 ? Tensor::from(begun.from_cache, device_) : Tensor();
  const Tensor order = cached > 0 && read > 0 ? Tensor::from(begun.order, device_) : Tensor();
  Tensor rows;
  if (read > 0) {
    begun.reading->wait();
    rows = Tensor::empty({read, columns}, file_.dtype(), device_);
    begun.buffer->upload(rows);
    begun.reading.reset();
    {
      const std::lock_guard lock(mutex_);
      free_.push_back(std::move(begun.buffer));
    }
    if (scale_.scaling != FeatureScaling::kNone || rows.dtype() != dtype_)
      rows = scale_.apply(Features(rows.to(DType::kF32))).dense().value().to(dtype_);
  }
  if (cached == 0) return read > 0 ? rows : Tensor::empty({0, columns}, dtype_, device_);
  if (read == 0) return gather_rows(cache_.rows, slots);
  return gather_rows(concat_rows(std::vector{gather_rows(cache_.rows, slots), rows}), order);
}

Tensor DiskFeatures::read_in_pieces(const Tensor& index) const {
  constexpr std::int64_t kBytes = std::int64_t{1} << 26;
  const std::int64_t columns = shape()[1], rows = index.numel(),
                     piece = std::max<std::int64_t>(1, kBytes / 4 / std::max<std::int64_t>(1, columns));
  const Tensor out = Tensor::empty({rows, columns}, dtype_, device_);
  std::function<Tensor()> next;
  for (std::int64_t begin = 0; begin < rows; begin += piece) {
    const std::int64_t end = std::min(rows, begin + piece);
    const std::function<Tensor()> now = next ? std::move(next) : read(index.slice(begin, end));
    next = end < rows ? read(index.slice(end, std::min(rows, end + piece))) : std::function<Tensor()>();
    out.slice(begin, end).copy_from(now());
  }
  return out;
}

}  // namespace rodeo
