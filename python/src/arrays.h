/// Arrays of Python's frameworks (PyTorch, NumPy, CuPy, anything with DLPack) as rodeo::Tensor, and back.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/adjacency.h"
#include "core/external.h"
#include "core/tensor.h"

namespace rodeo::python {

namespace nb = nanobind;

/// DLPack's table of C functions (DLPackExchangeAPI, DLPack 1.3), which PyTorch has since 2.10: tensors are
/// read without a call of Python. Functions return 0, or -1 with a Python error.
struct DlpackExchange {
  std::uint32_t major, minor;
  void* previous;
  void* allocate;
  void* managed_from_object;
  void* managed_to_object;
  /// May be null. `out` lives as the object does.
  int (*tensor_from_object)(void* object, nb::dlpack::dltensor* out);
  int (*current_stream)(std::int32_t device_type, std::int32_t device_id, void** out);
};
/// The table in a capsule of a type's __dlpack_c_exchange_api__; null where it is None or of another major
/// version.
const DlpackExchange* exchange_of(nb::handle capsule);

/// The types and functions of a framework that calls need: set once by rodeo/_frameworks.py.
struct Torch {
  nb::object tensor_type, empty, empty_like, uint8, current_stream, strided;  // current_stream(index) -> int
  nb::dict code_of_dtype, dtype_of_code;  // torch.float32 <-> static_cast<int>(DType::kF32)
  const DlpackExchange* exchange =
      nullptr;                   // faster ways to read tensors and streams, where PyTorch has them
  nb::dict code_of_device = {};  // torch.device -> its index, -1 for the CPU
};
void set_torch(Torch torch);
extern Torch* torch_functions;  // null until the first tensor of PyTorch arrives
bool is_torch(nb::handle array);

/// NumPy's names of dtypes, and PyTorch's bfloat16.
inline constexpr std::pair<DType, std::string_view> kDtypeNames[] = {
    {DType::kF64, "float64"}, {DType::kF32, "float32"}, {DType::kBF16, "bfloat16"}, {DType::kF16, "float16"},
    {DType::kI64, "int64"},   {DType::kI32, "int32"},   {DType::kU8, "uint8"}};

/// Keeps a Python object alive from C++ code that may run on any thread.
std::shared_ptr<void> keep(nb::object object);

/// A tensor over the array's memory. Throws Error that names `what` for strides, dtypes and devices that
/// operators do not read. None gives an undefined tensor. `owned`: the tensor keeps the array alive.
Tensor read(std::string_view op, std::string_view what, nb::handle array, bool owned = false);

/// Allocates results in the memory of the framework of `like`, and returns them as its arrays.
class Results : public ExternalAllocator {
 public:
  /// `like` was read as `as`. `out`: an array that the result is written to, or None.
  Results(std::string_view op, nb::handle like, const Tensor& as, nb::handle out = {});
  /// Throws Error where `out` shares memory with an operand: kernels read it while they write `out`.
  void apart_from(std::string_view what, const Tensor& operand) const;
  /// Results will have this shape and the dtype of `like`: they are then allocated as such.
  void expect(const Shape& shape);
  ~Results() override;
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

  Device device() const { return device_; }
  /// Runs work() without the GIL, on the caller's stream and memory.
  template <class Work>
  auto run(Work&& work) {
    nb::gil_scoped_release release;
    const ExternalScope scope(device_, stream_, own_memory_ ? nullptr : this);
    auto result = work();
    settle();
    return result;
  }
  /// The result as an array of the caller's framework; `out`, where that was given.
  nb::object give(const Tensor& result);

  Block allocate(std::size_t bytes, Device device) override;

 private:
  enum class Kind { kTorch, kNumpy, kCupy, kOther };
  void settle();

  std::string op_;
  Kind kind_ = Kind::kOther;
  Device device_;
  CUstream_st* stream_ = nullptr;
  bool own_memory_ = false;  // the framework has no memory of its own that we can use: results are DLPack
  nb::object like_, module_;
  Shape like_shape_, expected_shape_;
  bool as_like_ = false;  // the expected shape is that of `like`
  std::size_t expected_bytes_ = 0;
  DType dtype_ = DType::kF32;
  std::vector<void*> expected_;  // those of made_ that have the expected shape
  nb::object out_;
  Tensor out_tensor_;
  bool out_used_ = false;
  std::vector<void*> made_;  // owners of the memory that this object allocated: Python arrays of bytes
};

/// rodeo._core.Array: an object with DLPack.
struct PyArray {
  Tensor tensor;
};
/// A PyArray over the tensor's memory.
nb::object to_dlpack(const Tensor& tensor);

/// One graph. edge_ids: for each edge its position in the arrays that the graph was made from; undefined
/// where no edge moved.
struct PyGraph {
  Adjacency adj;
  Tensor edge_ids;
};

void bind_arrays(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_ops(nb::module_& m);
void bind_attention(nb::module_& m);
void bind_train(nb::module_& m);

}  // namespace rodeo::python
