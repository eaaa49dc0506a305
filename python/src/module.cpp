/// The extension module rodeo._core. The package's Python files are its public interface.
#include <nanobind/nanobind.h>

#include "arrays.h"
#include "core/cpu_level.h"
#include "core/device.h"
#include "core/threads.h"
#include "core/version.h"

namespace rodeo::python {
namespace {

nb::dict build_info() {
  nb::dict info;
  info["version"] = RODEO_VERSION;
  info["commit"] = RODEO_COMMIT;
#if RODEO_WITH_CUDA
  info["cuda"] = true;
#else
  info["cuda"] = false;
#endif
  info["cuda_devices"] = cuda_device_count();
  info["cuda_absence"] = cuda_absence_reason();
  info["threads"] = num_threads();
  info["cpu"] = std::string(cpu_level_name());
  return info;
}

void register_torch(nb::object tensor_type, nb::object empty, nb::object empty_like, nb::object uint8,
                    nb::object current_stream, nb::object strided, nb::dict code_of_dtype,
                    nb::dict dtype_of_code, nb::handle exchange) {
  set_torch({tensor_type, empty, empty_like, uint8, current_stream, strided, code_of_dtype, dtype_of_code,
             exchange_of(exchange)});
}

}  // namespace
}  // namespace rodeo::python

NB_MODULE(_core, m) {
  namespace nb = nanobind;
  using namespace nanobind::literals;
  using namespace rodeo;
  using namespace rodeo::python;
  nb::set_leak_warnings(false);  // graphs may live as long as the interpreter
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const OutOfMemory& error) {
      PyErr_SetString(PyExc_MemoryError, error.what());
    } catch (const Error& error) {
      PyErr_SetString(PyExc_ValueError, error.what());
    }
  });
  m.attr("__version__") = RODEO_VERSION;
  m.def("build_info", build_info);
  m.def("set_num_threads", set_num_threads, "count"_a);
  m.def("num_threads", num_threads);
  m.def("empty_cache", empty_cache, nb::call_guard<nb::gil_scoped_release>());
  m.def("register_torch", register_torch, "tensor_type"_a, "empty"_a, "empty_like"_a, "uint8"_a,
        "current_stream"_a, "strided"_a, "code_of_dtype"_a, "dtype_of_code"_a, "exchange"_a.none());
  bind_arrays(m);
  bind_graph(m);
  bind_ops(m);
  bind_attention(m);
  bind_train(m);
}
