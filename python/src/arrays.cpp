#include "arrays.h"

#include "core/error.h"

namespace rodeo::python {

Torch* torch_functions = nullptr;  // never destroyed: modules are freed in no order at exit

std::shared_ptr<void> keep(nb::object object) {
  return {object.release().ptr(), [](void* held) {
            if (!nb::is_alive()) return;  // the interpreter has ended
            nb::gil_scoped_acquire acquire;
            Py_DECREF(static_cast<PyObject*>(held));
          }};
}

bool is_torch(nb::handle array) {
  return torch_functions && PyObject_IsInstance(array.ptr(), torch_functions->tensor_type.ptr()) == 1;
}

namespace {

std::optional<DType> known_dtype(nb::dlpack::dtype type) {
  using Code = nb::dlpack::dtype_code;
  if (type.lanes != 1) return std::nullopt;
  const auto code = static_cast<Code>(type.code);
  if (code == Code::Float && type.bits == 64) return DType::kF64;
  if (code == Code::Float && type.bits == 32) return DType::kF32;
  if (code == Code::Float && type.bits == 16) return DType::kF16;
  if (code == Code::Bfloat && type.bits == 16) return DType::kBF16;
  if (code == Code::Int && type.bits == 64) return DType::kI64;
  if (code == Code::Int && type.bits == 32) return DType::kI32;
  if (type.bits == 8 && (code == Code::UInt || code == Code::Bool)) return DType::kU8;
  return std::nullopt;
}

[[noreturn]] void refuse_strides(std::string_view op, std::string_view what) {
  fail("[", op, "] ", what,
       " must be contiguous (row-major): call .contiguous(), or numpy.ascontiguousarray");
}

[[noreturn]] void refuse_dtype(std::string_view op, std::string_view what, const std::string& got) {
  fail("[", op, "] ", what, " must be float64, float32, bfloat16, float16, int64, int32, uint8 or bool, got ",
       got);
}

void check_memory(std::string_view op, std::string_view what, const void* data, const Shape& shape) {
  check(data || shape.numel() == 0, "[", op, "] ", what, " ", shape,
        " has no memory: its storage was freed (untyped_storage().resize_(0), a closed buffer)");
}

Shape shape_of(const std::int64_t* n, std::size_t rank) {
  switch (rank) {
    case 0:
      return {};
    case 1:
      return {n[0]};
    case 2:
      return {n[0], n[1]};
    case 3:
      return {n[0], n[1], n[2]};
    default:
      return {n[0], n[1], n[2], n[3]};
  }
}

Shape shape_of(std::string_view op, std::string_view what, nb::handle sizes) {
  const std::size_t rank = nb::len(sizes);
  check(rank <= static_cast<std::size_t>(Shape::kMaxRank), "[", op, "] ", what, " has ", rank,
        " dimensions, at most 4 are possible");
  std::int64_t n[Shape::kMaxRank] = {};
  for (std::size_t i = 0; i < rank; ++i) n[i] = nb::cast<std::int64_t>(sizes[i]);
  return shape_of(n, rank);
}

Device torch_device(std::string_view op, std::string_view what, nb::handle device) {
  nb::dict& known = torch_functions->code_of_device;
  PyObject* const code = PyDict_GetItem(known.ptr(), device.ptr());  // borrowed
  if (code) {
    const long index = PyLong_AsLong(code);
    return index < 0 ? kCpu : cuda_device(static_cast<int>(index));
  }
  const std::string type = nb::cast<std::string>(device.attr("type"));
  check(type == "cpu" || type == "cuda", "[", op, "] ", what, " must be on the CPU or a CUDA device, got ",
        type);
  const nb::object index = device.attr("index");
  const int number = type == "cpu" ? -1 : index.is_none() ? 0 : nb::cast<int>(index);
  known[device] = number;
  return number < 0 ? kCpu : cuda_device(number);
}

/// A dense contiguous tensor on the CPU or a CUDA device, by PyTorch's C functions. Undefined for any other,
/// and for what is not a tensor of one of our dtypes: read_torch() then says why.
Tensor read_exchanged(const DlpackExchange& exchange, std::string_view op, std::string_view what,
                      nb::handle array, bool owned) {
  ExchangedTensor view{};
  if (exchange.tensor_from_object(array.ptr(), &view) != 0) {
    PyErr_Clear();
    return {};
  }
  const auto dtype = known_dtype(view.dtype);
  const bool cuda = view.device_type == kDlCuda;
  if (!dtype || view.ndim > Shape::kMaxRank || (!cuda && view.device_type != kDlCpu)) return {};
  std::int64_t sizes[Shape::kMaxRank] = {}, numel = 1;
  for (int i = view.ndim; i-- > 0; numel *= sizes[i]) {
    sizes[i] = view.shape[i];
    // Strides of empty tensors, and of dimensions of one element, have no meaning.
    if (sizes[i] > 1 && numel > 0 && view.strides && view.strides[i] != numel) return {};
  }
  const Shape shape = shape_of(sizes, view.ndim);
  check_memory(op, what, view.data, shape);
  return borrow(static_cast<char*>(view.data) + view.byte_offset, shape, *dtype,
                cuda ? cuda_device(view.device_id) : kCpu, owned ? keep(nb::borrow(array)) : nullptr);
}

Tensor read_torch(std::string_view op, std::string_view what, nb::handle array, bool owned) {
  if (torch_functions->exchange) {
    Tensor tensor = read_exchanged(*torch_functions->exchange, op, what, array, owned);
    if (tensor.defined()) return tensor;
  }
  const nb::object dtype = array.attr("dtype");
  if (!torch_functions->code_of_dtype.contains(dtype))
    refuse_dtype(op, what, nb::cast<std::string>(nb::str(dtype)));
  const auto code = static_cast<DType>(nb::cast<int>(torch_functions->code_of_dtype[dtype]));
  check(array.attr("layout").is(torch_functions->strided), "[", op, "] ", what,
        " must be a dense tensor, got a sparse one: rodeo.Graph has the sparse matrix");
  if (!nb::cast<bool>(array.attr("is_contiguous")())) refuse_strides(op, what);
  const Device device = torch_device(op, what, array.attr("device"));
  const auto address = nb::cast<std::uintptr_t>(array.attr("data_ptr")());
  const Shape shape = shape_of(op, what, array.attr("shape"));
  check_memory(op, what, reinterpret_cast<void*>(address), shape);
  return borrow(reinterpret_cast<void*>(address), shape, code, device,
                owned ? keep(nb::borrow(array)) : nullptr);
}

DType dtype_of_dlpack(std::string_view op, std::string_view what, nb::dlpack::dtype type) {
  if (const auto dtype = known_dtype(type)) return *dtype;
  refuse_dtype(op, what, str("another type of ", static_cast<int>(type.bits), " bits"));
}

/// CuPy and Numba. DLPack would order the work after the legacy default stream, not after the caller's.
Tensor read_cuda_interface(std::string_view op, std::string_view what, nb::handle array, bool owned) {
  const nb::object interface = array.attr("__cuda_array_interface__");
  const auto type = nb::cast<std::string>(interface["typestr"]);
  DType dtype = DType::kU8;
  if (type == "<f8")
    dtype = DType::kF64;
  else if (type == "<f4")
    dtype = DType::kF32;
  else if (type == "<f2")
    dtype = DType::kF16;
  else if (type == "<i8")
    dtype = DType::kI64;
  else if (type == "<i4")
    dtype = DType::kI32;
  else if (type != "|u1" && type != "|b1")
    refuse_dtype(op, what, type);
  const Shape shape = shape_of(op, what, interface["shape"]);
  const nb::object strides = interface.attr("get")("strides");
  if (!strides.is_none()) {
    std::int64_t expected = static_cast<std::int64_t>(size_of(dtype));
    for (int i = shape.rank() - 1; i >= 0; expected *= shape[i--])
      if (shape[i] > 1 && shape.numel() > 0 && nb::cast<std::int64_t>(strides[i]) != expected)
        refuse_strides(op, what);
  }
  int index = 0;
  if (nb::hasattr(array, "device") && nb::hasattr(array.attr("device"), "id"))
    index = nb::cast<int>(array.attr("device").attr("id"));
  const auto address = nb::cast<std::uintptr_t>(interface["data"][0]);
  check_memory(op, what, reinterpret_cast<void*>(address), shape);
  return borrow(reinterpret_cast<void*>(address), shape, dtype, cuda_device(index),
                owned ? keep(nb::borrow(array)) : nullptr);
}

Tensor read_dlpack(std::string_view op, std::string_view what, nb::handle array) {
  nb::ndarray<nb::ro> view;
  if (!nb::try_cast(array, view))
    fail("[", op, "] ", what,
         " must be an array with DLPack or __cuda_array_interface__ (PyTorch, NumPy, CuPy, JAX), ", "got ",
         nb::cast<std::string>(array.type().attr("__name__")));
  const DType dtype = dtype_of_dlpack(op, what, view.dtype());
  check(view.ndim() <= static_cast<std::size_t>(Shape::kMaxRank), "[", op, "] ", what, " has ", view.ndim(),
        " dimensions, at most 4 are possible");
  nb::list sizes;
  std::int64_t expected = 1;
  for (std::size_t i = 0; i < view.ndim(); ++i) sizes.append(static_cast<std::int64_t>(view.shape(i)));
  for (std::size_t i = view.ndim(); i-- > 0; expected *= static_cast<std::int64_t>(view.shape(i)))
    if (view.shape(i) > 1 && view.size() > 0 && view.stride(i) != expected) refuse_strides(op, what);
  const int type = view.device_type();
  check(type == nb::device::cpu::value || type == nb::device::cuda::value || type == 3 /* page-locked */, "[",
        op, "] ", what, " must be on the CPU or a CUDA device");
  const Device device = type == nb::device::cuda::value ? cuda_device(view.device_id()) : kCpu;
  auto holder = std::make_shared<nb::ndarray<nb::ro>>(view);
  const Shape shape = shape_of(op, what, sizes);
  check_memory(op, what, view.data(), shape);
  return borrow(const_cast<void*>(static_cast<const void*>(view.data())), shape, dtype, device,
                std::shared_ptr<void>(holder.get(), [holder](void*) mutable {
                  if (!nb::is_alive()) return;
                  nb::gil_scoped_acquire acquire;
                  holder.reset();
                }));
}

}  // namespace

const DlpackExchange* exchange_of(nb::handle capsule) {
  if (capsule.is_none()) return nullptr;
  const auto* table =
      static_cast<const DlpackExchange*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  if (!table) PyErr_Clear();
  const bool usable = table && table->major == 1 && table->tensor_from_object && table->current_stream;
  return usable ? table : nullptr;
}

void set_torch(Torch torch) {
  delete torch_functions;
  torch_functions = new Torch(std::move(torch));
}

Tensor read(std::string_view op, std::string_view what, nb::handle array, bool owned) {
  if (array.is_none()) return {};
  if (is_torch(array)) return read_torch(op, what, array, owned);
  if (nb::hasattr(array, "__cuda_array_interface__")) return read_cuda_interface(op, what, array, owned);
  return read_dlpack(op, what, array);
}

}  // namespace rodeo::python
