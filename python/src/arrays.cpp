#include "arrays.h"

#include <algorithm>
#include <span>

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

/// A tensor over the memory of an array.   strides: in elements; null: it is row-major
Tensor over(std::string_view op, std::string_view what, const void* data, std::span<const std::int64_t> n,
            const std::int64_t* strides, DType dtype, Device device, std::shared_ptr<void> owner) {
  check(n.size() <= static_cast<std::size_t>(Shape::kMaxRank), "[", op, "] ", what, " has ", n.size(),
        " dimensions, at most 4 are possible");
  const Shape shape(n);
  // Strides of empty tensors, and of dimensions of one element, have no meaning.
  std::int64_t expected = 1;
  for (std::size_t i = n.size(); strides && i-- > 0; expected *= n[i])
    if (n[i] > 1 && shape.numel() > 0 && strides[i] != expected) refuse_strides(op, what);
  check(data || shape.numel() == 0, "[", op, "] ", what, " ", shape,
        " has no memory: its storage was freed (untyped_storage().resize_(0), a closed buffer)");
  return borrow(const_cast<void*>(data), shape, dtype, device, std::move(owner));
}

std::vector<std::int64_t> numbers_of(nb::handle sequence) {
  std::vector<std::int64_t> out;
  for (const nb::handle number : nb::tuple(nb::borrow(sequence)))
    out.push_back(nb::cast<std::int64_t>(number));
  return out;
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

/// A dense tensor on the CPU or a CUDA device, by PyTorch's C functions. Undefined for any other, and for
/// what is not a tensor of one of our dtypes: read_torch() then says why.
Tensor read_exchanged(const DlpackExchange& exchange, std::string_view op, std::string_view what,
                      nb::handle array, bool owned) {
  nb::dlpack::dltensor view;
  if (exchange.tensor_from_object(array.ptr(), &view) != 0) {
    PyErr_Clear();
    return {};
  }
  const auto dtype = known_dtype(view.dtype);
  const bool cuda = view.device.device_type == nb::device::cuda::value;
  if (!dtype || (!cuda && view.device.device_type != nb::device::cpu::value)) return {};
  return over(op, what, static_cast<char*>(view.data) + view.byte_offset,
              {view.shape, static_cast<std::size_t>(view.ndim)}, view.strides, *dtype,
              cuda ? cuda_device(view.device.device_id) : kCpu, owned ? keep(nb::borrow(array)) : nullptr);
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
  return over(op, what, reinterpret_cast<void*>(nb::cast<std::uintptr_t>(array.attr("data_ptr")())),
              numbers_of(array.attr("shape")), nullptr, code, torch_device(op, what, array.attr("device")),
              owned ? keep(nb::borrow(array)) : nullptr);
}

/// CuPy and Numba. DLPack would order the work after the legacy default stream, not after the caller's.
Tensor read_cuda_interface(std::string_view op, std::string_view what, nb::handle array, bool owned) {
  const nb::object interface = array.attr("__cuda_array_interface__");
  const auto type = nb::cast<std::string>(interface["typestr"]);
  constexpr std::pair<const char*, DType> kTypes[] = {
      {"<f8", DType::kF64}, {"<f4", DType::kF32}, {"<f2", DType::kF16}, {"<i8", DType::kI64},
      {"<i4", DType::kI32}, {"|u1", DType::kU8},  {"|b1", DType::kU8}};
  const auto* const known = std::ranges::find_if(kTypes, [&](const auto& row) { return row.first == type; });
  if (known == std::end(kTypes)) refuse_dtype(op, what, type);
  std::vector<std::int64_t> strides;
  if (const nb::object bytes = interface.attr("get")("strides"); !bytes.is_none())
    strides = numbers_of(bytes);
  const auto size = static_cast<std::int64_t>(size_of(known->second));
  for (std::int64_t& stride : strides) stride = stride % size == 0 ? stride / size : -1;
  int index = 0;
  if (nb::hasattr(array, "device") && nb::hasattr(array.attr("device"), "id"))
    index = nb::cast<int>(array.attr("device").attr("id"));
  return over(op, what, reinterpret_cast<void*>(nb::cast<std::uintptr_t>(interface["data"][0])),
              numbers_of(interface["shape"]), strides.empty() ? nullptr : strides.data(), known->second,
              cuda_device(index), owned ? keep(nb::borrow(array)) : nullptr);
}

Tensor read_dlpack(std::string_view op, std::string_view what, nb::handle array) {
  nb::ndarray<nb::ro> view;
  if (!nb::try_cast(array, view))
    fail("[", op, "] ", what,
         " must be an array with DLPack or __cuda_array_interface__ (PyTorch, NumPy, CuPy, JAX), ", "got ",
         nb::cast<std::string>(array.type().attr("__name__")));
  const auto dtype = known_dtype(view.dtype());
  if (!dtype) refuse_dtype(op, what, str("another type of ", static_cast<int>(view.dtype().bits), " bits"));
  const int type = view.device_type();
  check(type == nb::device::cpu::value || type == nb::device::cuda::value || type == 3 /* page-locked */, "[",
        op, "] ", what, " must be on the CPU or a CUDA device");
  const Device device = type == nb::device::cuda::value ? cuda_device(view.device_id()) : kCpu;
  auto holder = std::make_shared<nb::ndarray<nb::ro>>(view);
  return over(op, what, view.data(), {view.shape_ptr(), view.ndim()}, view.stride_ptr(), *dtype, device,
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
