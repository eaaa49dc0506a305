/// Shared by the HDF5 reader and writer. Private to them, because it includes hdf5.h.
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

/// RAII guard: HDF5 does not print its error stack while one exists. The destructor restores the error
/// handler.
class Silence {
 public:
  Silence() {
    // The exit handler of HDF5 prints errors for damaged files that cannot be closed. It is not needed: all
    // our files are closed before exit.
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

/// Takes ownership of `id`. The caller checks for a negative id.
inline Hdf5Id own(hid_t id, herr_t (*close)(hid_t)) {
  return {new hid_t(id), [close](const hid_t* p) {
            const Silence silence;
            if (*p >= 0) close(*p);
            delete p;
          }};
}

/// The cause of the last failed call, such as " (filter returned failure)", or an empty string. Formats of
/// newer libraries fail as damaged version numbers do.
inline std::string reason() {
  std::string text;
  const auto innermost = [](unsigned, const H5E_error2_t* error, void* out) -> herr_t {
    if (error->desc) *static_cast<std::string*>(out) = error->desc;
    return 1;  // stop
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, &text);
  if (text.empty()) return text;
  constexpr std::string_view kSystem = "error message = '";  // of the operating system, behind time and name
  if (const std::size_t at = text.find(kSystem); at != text.npos) {
    text.erase(0, at + kSystem.size());
    return " (" + text.substr(0, text.find('\'')) + ")";
  }
  const bool version = text.find("version") != std::string::npos;
  return " (" + text.substr(0, text.find('\n')) + ")" +
         (version
              ? ": it is damaged, or a newer HDF5 library wrote it: write it for older ones, with h5py by "
                "File(name, 'w', libver='v110')"
              : "");
}

/// Throws Error with the concatenated parts and reason() if an HDF5 call returned a negative number.
template <class... Parts>
void check_call(std::int64_t returned, const Parts&... parts) {
  if (returned < 0) [[unlikely]]
    fail(parts..., reason());
}

/// "integer", "variable-length", ...
std::string_view class_name(H5T_class_t type_class);

/// Throws Error for an integer, float or enum whose bits are not all within the bytes of a value: HDF5 then
/// converts whatever is beside the value in memory. `where` begins the message.
void check_bits(std::int64_t type, const std::string& where);

/// A scalar attribute; nullopt if absent. Throws Error with the prefix `where` if it has another type.
std::optional<std::int64_t> integer_attribute(std::int64_t object, const std::string& name,
                                              const std::string& where);
std::optional<std::string> text_attribute(std::int64_t object, const std::string& name,
                                          const std::string& where);

/// A block of a 1D or 2D array.
struct Block {
  std::array<std::int64_t, 2> start{}, count{};  // [rows, columns]; a vector is one row
};

/// Reads a block of a chunked array that has no filters but byte shuffle and gzip. HDF5 fetches the stored
/// chunks one by one; all threads decompress them. `width` is the element size, equal in file and memory.
/// Returns false without reading anything if the array is stored in another way.
bool read_chunks(std::int64_t dataset, int rank, const Block& block, std::size_t width, void* out,
                 const std::string& where);

/// The calls of the HDF5 library that read_chunks() makes, without decompressing.
bool fetch_chunks(std::int64_t dataset, int rank, const Block& block, std::size_t width,
                  const std::string& where);

/// The HDF5 type of `dtype` in memory.
inline Hdf5Id memory_type(DType dtype) {
  // HDF5 has no predefined 16-bit floats, but converts custom layouts.
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
