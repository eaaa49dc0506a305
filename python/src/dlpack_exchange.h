/// DLPack's table of C functions (DLPackExchangeAPI, DLPack 1.3), which PyTorch has since 2.10: tensors are
/// read without a call of Python. The layout is that of dlpack.h.
#pragma once

#include <nanobind/ndarray.h>

#include <cstdint>

namespace rodeo::python {

constexpr std::int32_t kDlCpu = 1, kDlCuda = 2;  // DLDeviceType

/// DLTensor.
struct ExchangedTensor {
  void* data;
  std::int32_t device_type, device_id;
  std::int32_t ndim;
  nanobind::dlpack::dtype dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements
  std::uint64_t byte_offset;
};

/// Functions return 0, or -1 with a Python error.
struct DlpackExchange {
  std::uint32_t major, minor;
  void* previous;
  void* allocate;
  void* managed_from_object;
  void* managed_to_object;
  int (*tensor_from_object)(void* object,
                            ExchangedTensor* out);  // may be null; `out` lives as the object does
  int (*current_stream)(std::int32_t device_type, std::int32_t device_id, void** out);
};

/// The table in a capsule of a type's __dlpack_c_exchange_api__; null where it is None or of another major
/// version.
const DlpackExchange* exchange_of(nanobind::handle capsule);

}  // namespace rodeo::python
