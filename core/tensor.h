/// A cheap shared handle on contiguous row-major memory. It computes; it does not record (see Variable).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/device.h"
#include "core/dtype.h"
#include "core/shape.h"

namespace rodeo {

struct Storage;

/// Copies of a Tensor share memory. Memory is not initialised unless a function says so.
/// On CUDA every function runs on the calling thread's stream (see Context) and returns at once,
/// except those that hand values to the host, which wait for them.
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
  static Tensor from_host(const void* values, const Shape& shape, DType dtype, Device device = kCpu);

  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  std::int64_t dim(int i) const { return shape_[i]; }
  std::int64_t numel() const { return shape_.numel(); }
  std::int64_t nbytes() const { return numel() * static_cast<std::int64_t>(size_of(dtype_)); }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }

  /// The first element; throws Error unless T is the tensor's type. Constness of the handle is not of the
  /// data.
  template <class T>
  T* data() const {
    check(defined(), "[tensor] data() of an undefined tensor");
    check(dtype_of<T>() == dtype_, "[tensor] data<", dtype_of<T>(), ">() of a tensor of ", dtype_);
    return static_cast<T*>(raw());
  }
  void* raw() const;

  /// A tensor of the same values on `device` (itself when it is there already).
  Tensor to(Device device) const;
  /// A tensor of the same values converted to `dtype` (itself when it has that type). Floats become integers
  /// by truncation.
  Tensor to(DType dtype) const;
  Tensor clone() const;

  /// Same memory, other shape; throws Error unless the number of elements is equal.
  Tensor reshape(const Shape& shape) const;
  /// Same memory: entries [begin, end) of the first dimension.
  Tensor slice(std::int64_t begin, std::int64_t end) const;

  /// Overwrite all elements.
  void fill(double value) const;
  /// Overwrite with the elements of `source`, which has the same shape and dtype, from any device.
  void copy_from(const Tensor& source) const;

  /// All values, on the host.
  template <class T>
  std::vector<T> to_vector() const {
    check(dtype_of<T>() == dtype_, "[tensor] to_vector<", dtype_of<T>(), ">() of a tensor of ", dtype_);
    std::vector<T> values(static_cast<std::size_t>(numel()));
    copy_to_host(values.data());
    return values;
  }
  /// The value of a tensor of one element.
  double item() const;
  void copy_to_host(void* values) const;

  /// True when both handles refer to the same first byte.
  bool shares_memory_with(const Tensor& other) const {
    return defined() && other.defined() && raw() == other.raw();
  }

  /// What messages call this memory where it is among the largest: "features".
  void name_memory(std::string_view name) const;
  /// The same for what a recorded op, or its gradient, made; the first name counts. `op` outlives the memory.
  void note_maker(std::string_view op, bool gradient) const;

 private:
  std::shared_ptr<Storage> storage_;
  std::int64_t offset_ = 0;  // bytes
  Shape shape_;
  DType dtype_ = DType::kF32;
  Device device_;
};

/// Zeros the columns of a matrix from `first` on. Throws Error where x is no matrix or has no such columns.
void zero_columns(const Tensor& x, std::int64_t first);

}  // namespace rodeo
