/// What the HDF5 reader and writer share. For these two only: it includes the library's own header.
#pragma once

#include <hdf5.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/dtype.h"
#include "datasets/hdf5_file.h"

namespace rodeo::hdf5 {

/// While one lives, HDF5 does not print its error stack; what the process had set returns with its end.
class Silence {
 public:
  Silence() {
    // At the end of the process HDF5 would complain of files that were too damaged to be closed. Ours are
    // closed by then; what it closes besides is memory.
    static const herr_t no_exit_handler = H5dont_atexit();
    static_cast<void>(no_exit_handler);
    H5Eget_auto2(H5E_DEFAULT, &print_, &stream_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Silence() { H5Eset_auto2(H5E_DEFAULT, print_, stream_); }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  H5E_auto2_t print_ = nullptr;
  void* stream_ = nullptr;
};

/// Takes over `id`, which the caller has checked or will check for being negative.
inline Hdf5Id own(hid_t id, herr_t (*close)(hid_t)) {
  return {new hid_t(id), [close](const hid_t* p) {
            const Silence silence;
            if (*p >= 0) close(*p);
            delete p;
          }};
}

/// The cause of the call that failed last: " (filter returned failure)", or nothing.
inline std::string reason() {
  std::string text;
  const auto innermost = [](unsigned, const H5E_error2_t* error, void* out) -> herr_t {
    if (error->desc) *static_cast<std::string*>(out) = error->desc;
    return 1;  // stop
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, &text);
  return text.empty() ? text : " (" + text.substr(0, text.find('\n')) + ")";
}

/// Throws Error with the concatenated parts and the reason where an HDF5 call has returned a negative number.
template <class... Parts>
void check_call(std::int64_t returned, const Parts&... parts) {
  if (returned < 0) [[unlikely]]
    fail(parts..., reason());
}

/// "integer", "variable-length", ...
std::string_view class_name(H5T_class_t type_class);

/// An attribute of one value; nothing where there is none. `where` begins the Error where it is something
/// else.
std::optional<std::int64_t> integer_attribute(std::int64_t object, const std::string& name,
                                              const std::string& where);
std::optional<std::string> text_attribute(std::int64_t object, const std::string& name,
                                          const std::string& where);

/// A block of an array of one or two dimensions.
struct Block {
  std::array<std::int64_t, 2> start{}, count{};  // [rows, columns]; a vector is one row
};

/// Reads a block of a chunked array whose only filters are byte-shuffle and gzip: HDF5 fetches the packed
/// chunks one after the other, all threads unpack them. `width` is the size of an element, equal in file and
/// memory. Returns false where the array is stored in another way, and nothing was read.
bool read_chunks(std::int64_t dataset, int rank, const Block& block, std::size_t width, void* out,
                 const std::string& where);

/// A value of `dtype` in memory.
inline Hdf5Id memory_type(DType dtype) {
  // HDF5 has no 16-bit floats of its own, but converts any layout that it is told.
  const auto float16 = [](std::size_t exponent_bits, std::size_t mantissa_bits, std::size_t bias) {
    const hid_t type = H5Tcopy(H5T_NATIVE_FLOAT);
    H5Tset_fields(type, 15, mantissa_bits, exponent_bits, 0, mantissa_bits);
    H5Tset_size(type, 2);
    H5Tset_ebias(type, bias);
    return type;
  };
  const auto type = [&] {
    switch (dtype) {
      case DType::kF64:
        return H5Tcopy(H5T_NATIVE_DOUBLE);
      case DType::kF32:
        return H5Tcopy(H5T_NATIVE_FLOAT);
      case DType::kBF16:
        return float16(8, 7, 127);
      case DType::kF16:
        return float16(5, 10, 15);
      case DType::kI64:
        return H5Tcopy(H5T_NATIVE_INT64);
      case DType::kI32:
        return H5Tcopy(H5T_NATIVE_INT32);
      default:
        return H5Tcopy(H5T_NATIVE_UINT8);
    }
  };
  return own(type(), H5Tclose);
}

}  // namespace rodeo::hdf5
