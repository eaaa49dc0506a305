/// Results in the memory of the caller's framework, and DLPack of the library's own.
#include <algorithm>

#include "arrays.h"
#include "core/error.h"
#include "core/storage.h"

namespace rodeo::python {
namespace {

nb::tuple tuple_of(const Shape& shape) {
  nb::list sizes;
  for (int i = 0; i < shape.rank(); ++i) sizes.append(shape[i]);
  return nb::tuple(sizes);
}

/// The address of a contiguous tensor of PyTorch that was just allocated.
std::uintptr_t address_of(nb::handle tensor) {
  nb::dlpack::dltensor view;
  const DlpackExchange* const exchange = torch_functions->exchange;
  if (exchange && exchange->tensor_from_object(tensor.ptr(), &view) == 0)
    return reinterpret_cast<std::uintptr_t>(view.data) + view.byte_offset;
  if (exchange) PyErr_Clear();
  return nb::cast<std::uintptr_t>(tensor.attr("data_ptr")());
}

nb::str numpy_name(std::string_view op, DType dtype) {
  check(dtype != DType::kBF16, "[", op, "] NumPy and CuPy have no bfloat16: use float32, or PyTorch");
  const auto* const row = std::ranges::find(kDtypeNames, dtype, &std::pair<DType, std::string_view>::first);
  return nb::str(row->second.data(), row->second.size());
}

}  // namespace

Results::Results(std::string_view op, nb::handle like, const Tensor& as, nb::handle out)
    : op_(op),
      device_(as.device()),
      like_(nb::borrow(like)),
      like_shape_(as.defined() ? as.shape() : Shape()),
      dtype_(as.defined() ? as.dtype() : DType::kF32) {
  check(as.defined(), "[", op, "] the first array must not be None");
  if (is_torch(like)) {
    kind_ = Kind::kTorch;
    void* stream = nullptr;
    const DlpackExchange* const exchange = torch_functions->exchange;
    if (device_.is_cuda() && exchange) {
      if (exchange->current_stream(nb::device::cuda::value, device_.index, &stream) != 0)
        nb::raise_python_error();
    } else if (device_.is_cuda()) {
      const auto address = nb::cast<std::uintptr_t>(torch_functions->current_stream(device_.index));
      stream = reinterpret_cast<void*>(address);
    }
    stream_ = static_cast<CUstream_st*>(stream);
  } else {
    const auto module = nb::cast<std::string>(like.type().attr("__module__"));
    if (module.starts_with("numpy")) {
      kind_ = Kind::kNumpy;
      module_ = nb::module_::import_("numpy");
    } else if (module.starts_with("cupy")) {
      kind_ = Kind::kCupy;
      module_ = nb::module_::import_("cupy");
      stream_ = reinterpret_cast<CUstream_st*>(
          nb::cast<std::uintptr_t>(module_.attr("cuda").attr("get_current_stream")().attr("ptr")));
    } else {
      own_memory_ = true;
      if (module.starts_with("jax")) module_ = nb::module_::import_("jax.dlpack");
    }
  }
  if (out.ptr() && !out.is_none()) {
    out_ = nb::borrow(out);
    out_tensor_ = read(op, "out", out);
    check(out_tensor_.device() == device_, "[", op, "] out must be on ", device_, ", got ",
          out_tensor_.device());
  }
}

Results::~Results() = default;

void Results::apart_from(std::string_view what, const Tensor& operand) const {
  if (!out_tensor_.defined() || !operand.defined() || operand.device() != device_) return;
  const auto begin = [](const Tensor& t) { return reinterpret_cast<std::uintptr_t>(t.raw()); };
  const auto end = [&](const Tensor& t) { return begin(t) + static_cast<std::uintptr_t>(t.nbytes()); };
  check(end(operand) <= begin(out_tensor_) || end(out_tensor_) <= begin(operand), "[", op_,
        "] out must not share memory with ", what, ": give another array, or call without out");
}

void Results::expect(const Shape& shape) {
  if (kind_ != Kind::kTorch || out_tensor_.defined()) return;
  expected_shape_ = shape;
  as_like_ = shape == like_shape_;
  expected_bytes_ = static_cast<std::size_t>(shape.numel()) * size_of(dtype_);
}

void Results::settle() {
  // Arrays of other frameworks do not tell their stream: the result is complete when it is handed over.
  if (own_memory_ && device_.is_cuda()) synchronize(device_);
}

ExternalAllocator::Block Results::allocate(std::size_t bytes, Device device) {
  // The first array of the size of `out` is `out`. Where that was an intermediate one, give() copies.
  if (out_tensor_.defined() && !out_used_ && bytes > 0 &&
      static_cast<std::int64_t>(bytes) == out_tensor_.nbytes()) {
    out_used_ = true;
    return {out_tensor_.raw(), out_tensor_.shared_storage()};
  }
  nb::gil_scoped_acquire acquire;
  nb::object buffer;
  std::uintptr_t address = 0;
  if (kind_ == Kind::kTorch && bytes == expected_bytes_ && bytes > 0) {
    buffer =
        as_like_ ? torch_functions->empty_like(like_) : like_.attr("new_empty")(tuple_of(expected_shape_));
    expected_.push_back(buffer.ptr());
    address = address_of(buffer);
  } else if (kind_ == Kind::kTorch) {
    buffer = torch_functions->empty(nb::make_tuple(bytes), nb::arg("dtype") = torch_functions->uint8,
                                    nb::arg("device") = like_.attr("device"));
    address = address_of(buffer);
  } else {
    try {
      // 16-byte alignment: malloc() aligns less only on other platforms.
      buffer = module_.attr("empty")(bytes, nb::arg("dtype") = "uint8");
    } catch (nb::python_error& error) {
      if (error.matches(PyExc_MemoryError))
        throw OutOfMemory(str("[memory] ", device, " is out of memory: ", bytes, " bytes requested"));
      throw;
    }
    address = kind_ == Kind::kNumpy ? nb::cast<std::uintptr_t>(buffer.attr("ctypes").attr("data"))
                                    : nb::cast<std::uintptr_t>(buffer.attr("data").attr("ptr"));
  }
  static char nothing;
  made_.push_back(buffer.ptr());
  return {address ? reinterpret_cast<void*>(address) : &nothing, keep(std::move(buffer))};
}

nb::object Results::give(const Tensor& result) {
  if (out_tensor_.defined()) {
    check(out_tensor_.shape() == result.shape() && out_tensor_.dtype() == result.dtype(), "[", op_,
          "] out must be ", result.dtype(), " ", result.shape(), ", got ", out_tensor_.dtype(), " ",
          out_tensor_.shape());
    if (out_tensor_.raw() != result.raw()) run([&] { return out_tensor_.copy_from(result), 0; });
    return out_;
  }
  // A view, an operand itself, and what the graph caches are copied: the caller may change the result.
  const Storage& storage = *result.storage();
  const bool whole = result.raw() == storage.data &&
                     static_cast<std::size_t>(result.nbytes()) == storage.bytes &&
                     std::find(made_.begin(), made_.end(), storage.owner.get()) != made_.end();
  if (kind_ == Kind::kOther) {
    const nb::object array = to_dlpack(result);
    return module_.is_valid() ? module_.attr("from_dlpack")(array) : array;
  }
  if (!whole) {
    const Tensor copy = run([&] { return result.clone(); });
    return give(copy);
  }
  const nb::object buffer = nb::borrow(static_cast<PyObject*>(storage.owner.get()));
  if (kind_ == Kind::kTorch) {
    const bool as_expected = std::find(expected_.begin(), expected_.end(), buffer.ptr()) != expected_.end();
    if (as_expected && result.dtype() == dtype_ && expected_shape_ == result.shape()) return buffer;
    const nb::object flat = as_expected ? buffer.attr("view")(-1) : buffer;
    const nb::object dtype = torch_functions->dtype_of_code[nb::int_(static_cast<int>(result.dtype()))];
    return flat.attr("view")(dtype).attr("view")(tuple_of(result.shape()));
  }
  return buffer.attr("view")(numpy_name(op_, result.dtype())).attr("reshape")(tuple_of(result.shape()));
}

namespace {

nb::object capsule(const PyArray& array) {
  using Code = nb::dlpack::dtype_code;
  const Tensor& tensor = array.tensor;
  std::size_t sizes[Shape::kMaxRank] = {};
  for (int i = 0; i < tensor.rank(); ++i) sizes[i] = static_cast<std::size_t>(tensor.dim(i));
  const DType d = tensor.dtype();
  const Code code = d == DType::kBF16 ? Code::Bfloat
                    : is_float(d)     ? Code::Float
                    : d == DType::kU8 ? Code::UInt
                                      : Code::Int;
  const nb::dlpack::dtype type{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * size_of(d)), 1};
  const nb::capsule owner(new Tensor(tensor), [](void* held) noexcept { delete static_cast<Tensor*>(held); });
  const int device = tensor.device().is_cuda() ? nb::device::cuda::value : nb::device::cpu::value;
  return nb::cast(nb::ndarray<>(tensor.raw(), static_cast<std::size_t>(tensor.rank()), sizes, owner, nullptr,
                                type, device, tensor.device().index));
}

}  // namespace

nb::object to_dlpack(const Tensor& tensor) {
  return nb::cast(PyArray{tensor});
}

void bind_arrays(nb::module_& m) {
  nb::class_<PyArray>(m, "Array", "An array of the library's own memory, for from_dlpack of any framework.")
      .def("__dlpack__", [](const PyArray& array, const nb::kwargs&) { return capsule(array); })
      .def("__dlpack_device__",
           [](const PyArray& array) {
             const Device device = array.tensor.device();
             return nb::make_tuple(device.is_cuda() ? nb::device::cuda::value : nb::device::cpu::value,
                                   device.index);
           })
      .def_prop_ro("shape", [](const PyArray& array) { return tuple_of(array.tensor.shape()); });
}

}  // namespace rodeo::python
