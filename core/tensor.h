/// A shared handle to contiguous row-major memory. Functions on tensors compute; those on Variables also
/// record gradients.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/device.h"
#include "core/dtype.h"
#include "core/shape.h"

namespace rodeo {

struct Storage;

/// Copies of a Tensor share memory, as in PyTorch. Memory is not initialised unless a function says so. On
/// CUDA every function runs on the calling thread's stream (see Context). Copies between host and device, in
/// either direction, wait for the stream; all other functions return at once.
class Tensor {
 public:
  Tensor() = default;  // undefined: no memory, no shape

  static Tensor empty(const Shape& shape, DType dtype = DType::kF32, Device device = kCpu);
  static Tensor zeros(const Shape& shape, DType dtype = DType::kF32, Device device = kCpu);
  static Tensor full(const Shape& shape, double value, DType dtype = DType::kF32, Device device = kCpu);
  /// Copies host values; throws Error unless values.size() is the number of elements of `shape`.
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape, Device device = kCpu) {
    check(static_cast<std::int64_t>(values.size()) == shape.numel(), "[tensor] ", values.size(),
          " values do not fill ", shape);
    return from_host(values.data(), shape, dtype_of<T>(), device);
  }
  template <class T>
  static Tensor from(const std::vector<T>& values, Device device = kCpu) {
    return from(values, {static_cast<std::int64_t>(values.size())}, device);
  }
  /// Copies shape.numel() elements of `dtype` from host memory.
  static Tensor from_host(const void* values, const Shape& shape, DType dtype, Device device = kCpu);

  /// A tensor at the beginning of `storage`, which must hold at least its bytes. See core/external.h.
  static Tensor from_storage(std::shared_ptr<Storage> storage, const Shape& shape, DType dtype);

  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  std::int64_t dim(int i) const { return shape_[i]; }
  std::int64_t numel() const { return shape_.numel(); }
  std::int64_t nbytes() const { return numel() * static_cast<std::int64_t>(size_of(dtype_)); }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }

  /// Pointer to the first element, in the memory of device(). Throws Error unless T is the element type.
  /// const protects the handle only: the elements of a const Tensor can be written.
  template <class T>
  T* data() const {
    check(defined(), "[tensor] data() of an undefined tensor");
    check(dtype_of<T>() == dtype_, "[tensor] data<", dtype_of<T>(), ">() of a tensor of ", dtype_);
    return static_cast<T*>(raw());
  }
  /// data() without a type; null if undefined.
  void* raw() const;

  /// A copy on `device`; the same tensor if it is there already.
  Tensor to(Device device) const;
  /// A copy converted to `dtype`; the same tensor if it has that dtype. Floats are truncated to integers.
  Tensor to(DType dtype) const;
  Tensor clone() const;

  /// A view with another shape; throws Error unless the number of elements is equal.
  Tensor reshape(const Shape& shape) const;
  /// A view of entries [begin, end) of the first dimension.
  Tensor slice(std::int64_t begin, std::int64_t end) const;

  /// Sets all elements to `value`.
  void fill(double value) const;
  /// Copies the elements of `source`, which has the same shape and dtype, from any device.
  void copy_from(const Tensor& source) const;

  /// All values, copied to the host.
  template <class T>
  std::vector<T> to_vector() const {
    check(dtype_of<T>() == dtype_, "[tensor] to_vector<", dtype_of<T>(), ">() of a tensor of ", dtype_);
    std::vector<T> values(static_cast<std::size_t>(numel()));
    copy_to_host(values.data());
    return values;
  }
  /// The value of a tensor with one element.
  double item() const;
  /// Copies all elements to host memory for numel() of them.
  void copy_to_host(void* values) const;

  /// Whether both tensors begin at the same address.
  bool shares_memory_with(const Tensor& other) const {
    return defined() && other.defined() && raw() == other.raw();
  }

  /// The memory block behind this tensor and its views (core/storage.h); null if undefined.
  Storage* storage() const { return storage_.get(); }
  const std::shared_ptr<Storage>& shared_storage() const { return storage_; }

 private:
  std::shared_ptr<Storage> storage_;
  std::int64_t offset_ = 0;  // bytes
  Shape shape_;
  DType dtype_ = DType::kF32;
  Device device_;
};

/// Sets columns [first, x.dim(1)) of a matrix to zero. Throws Error if x is not a matrix or has fewer
/// columns.
void zero_columns(const Tensor& x, std::int64_t first);

/// The values in aligned rows, then a line with dtype, shape and device. More than 1000 elements are
/// summarised. See to_text() in core/print.h, which has options. Waits for the device.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace rodeo
