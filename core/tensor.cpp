#include "core/tensor.h"

#include <cstring>

#include "core/cuda/runtime.h"
#include "core/storage.h"

namespace rodeo {
namespace {

void copy_bytes(void* to, Device to_device, const void* from, Device from_device, std::int64_t bytes) {
  if (bytes == 0) return;
  if (!to_device.is_cuda() && !from_device.is_cuda())
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  else
    cuda::copy(to, to_device, from, from_device, static_cast<std::size_t>(bytes));
}

}  // namespace

Tensor Tensor::empty(const Shape& shape, DType dtype, Device device) {
  Tensor tensor;
  tensor.shape_ = shape;
  tensor.dtype_ = dtype;
  tensor.device_ = device;
  tensor.storage_ = allocate(static_cast<std::size_t>(tensor.nbytes()), device);
  tensor.storage_->info.set_contents(shape, dtype, device, tensor.nbytes());
  return tensor;
}

Tensor Tensor::from_storage(std::shared_ptr<Storage> storage, const Shape& shape, DType dtype) {
  Tensor tensor;
  tensor.shape_ = shape;
  tensor.dtype_ = dtype;
  tensor.device_ = storage->device;
  check(static_cast<std::size_t>(tensor.nbytes()) <= storage->bytes, "[tensor] ", shape, " of ", dtype,
        " needs ", tensor.nbytes(), " bytes, the storage has ", storage->bytes);
  tensor.storage_ = std::move(storage);
  return tensor;
}

Tensor Tensor::zeros(const Shape& shape, DType dtype, Device device) {
  return full(shape, 0, dtype, device);
}

Tensor Tensor::full(const Shape& shape, double value, DType dtype, Device device) {
  const Tensor tensor = empty(shape, dtype, device);
  tensor.fill(value);
  return tensor;
}

Tensor Tensor::from_host(const void* values, const Shape& shape, DType dtype, Device device) {
  const Tensor tensor = empty(shape, dtype, device);
  copy_bytes(tensor.raw(), device, values, kCpu, tensor.nbytes());
  return tensor;
}

void* Tensor::raw() const {
  return storage_ ? static_cast<char*>(storage_->data) + offset_ : nullptr;
}

Tensor Tensor::to(Device device) const {
  if (!defined() || device == device_) return *this;
  const Tensor out = empty(shape_, dtype_, device);
  out.copy_from(*this);
  return out;
}

Tensor Tensor::clone() const {
  if (!defined()) return {};
  const Tensor out = empty(shape_, dtype_, device_);
  out.copy_from(*this);
  return out;
}

Tensor Tensor::reshape(const Shape& shape) const {
  check(shape.numel() == numel(), "[reshape] ", shape_, " has ", numel(), " elements, ", shape, " has ",
        shape.numel());
  Tensor out = *this;
  out.shape_ = shape;
  return out;
}

Tensor Tensor::slice(std::int64_t begin, std::int64_t end) const {
  check(rank() >= 1 && begin >= 0 && begin <= end && end <= dim(0), "[slice] [", begin, ", ", end,
        ") is not within the first dimension of ", shape_);
  Tensor out = *this;
  const std::int64_t stride = dim(0) == 0 ? 0 : numel() / dim(0);
  out.shape_ = shape_.with_rows(end - begin);
  out.offset_ += begin * stride * static_cast<std::int64_t>(size_of(dtype_));
  return out;
}

void Tensor::copy_from(const Tensor& source) const {
  check(defined() && source.defined(), "[copy_from] of or to an undefined tensor");
  check(source.shape_ == shape_ && source.dtype_ == dtype_, "[copy_from] source must be ", dtype_, " ",
        shape_, ", got ", source.dtype_, " ", source.shape_);
  copy_bytes(raw(), device_, source.raw(), source.device_, nbytes());
}

void Tensor::copy_to_host(void* values) const {
  copy_bytes(values, kCpu, raw(), device_, nbytes());
}

double Tensor::item() const {
  check(defined() && numel() == 1, "[item] needs a tensor of one element, got ", shape_);
  const Tensor host = to(kCpu);
  return dispatch_all(dtype_, [&]<class T>(T) {
    if constexpr (sizeof(T) == 2)  // 16-bit floats convert to float only
      return static_cast<double>(static_cast<float>(*host.data<T>()));
    else
      return static_cast<double>(*host.data<T>());
  });
}

void zero_columns(const Tensor& x, std::int64_t first) {
  check(x.defined() && x.rank() == 2 && first >= 0 && first <= x.dim(1),
        "[zero_columns] x must be a matrix with ", first, " columns or more");
  const std::size_t bytes = size_of(x.dtype()), pitch = static_cast<std::size_t>(x.dim(1)) * bytes,
                    width = static_cast<std::size_t>(x.dim(1) - first) * bytes;
  if (width == 0 || x.dim(0) == 0) return;
  auto* const data = static_cast<std::byte*>(x.raw()) + static_cast<std::size_t>(first) * bytes;
  if (x.device().is_cuda()) return cuda::clear_rows(data, pitch, width, x.dim(0), x.device());
  for (std::int64_t i = 0; i < x.dim(0); ++i)
    std::memset(data + static_cast<std::size_t>(i) * pitch, 0, width);
}

}  // namespace rodeo
