#include <algorithm>

#include "datasets/hdf5/hdf5_api.h"

namespace rodeo::hdf5 {
namespace {

// Opens an attribute of one element; nullptr if absent.
Hdf5Id open_attribute(std::int64_t object, const std::string& name, const std::string& where) {
  if (H5Aexists(object, name.c_str()) <= 0) return nullptr;
  Hdf5Id attribute = own(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose);
  check_call(*attribute, where, " cannot be read");
  const Hdf5Id space = own(H5Aget_space(*attribute), H5Sclose);
  const hssize_t elements = H5Sget_simple_extent_npoints(*space);
  check(elements == 1, where, " must be one value, got ", elements,
        name == "class_names" ? ": write one text with a line for each name" : "");
  return attribute;
}

}  // namespace

std::string_view class_name(H5T_class_t type_class) {
  switch (type_class) {
    case H5T_INTEGER:
      return "integer";
    case H5T_FLOAT:
      return "float";
    case H5T_STRING:
      return "string";
    case H5T_COMPOUND:
      return "compound";
    case H5T_VLEN:
      return "variable-length";
    case H5T_ENUM:
      return "enum";
    case H5T_ARRAY:
      return "array-valued";
    case H5T_REFERENCE:
      return "reference";
    case H5T_OPAQUE:
      return "opaque";
    case H5T_BITFIELD:
      return "bitfield";
    default:
      return "unknown";
  }
}

void check_bits(std::int64_t type, const std::string& where) {
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_ENUM) {
    const Hdf5Id base = own(H5Tget_super(type), H5Tclose);
    return check_bits(*base, where);
  }
  if (kind != H5T_INTEGER && kind != H5T_FLOAT) return;
  const std::size_t bytes = H5Tget_size(type), bits = H5Tget_precision(type);
  const int offset = H5Tget_offset(type);
  check(bytes > 0, where, " has a damaged type, of values without bytes");
  check(bits > 0 && offset >= 0 && static_cast<std::size_t>(offset) + bits <= 8 * bytes, where,
        " has a damaged type: values of ", bytes, " bytes with ", bits, " bits from bit ", offset);
  if (kind == H5T_INTEGER) return;
  std::size_t sign = 0, exponent = 0, exponent_bits = 0, mantissa = 0, mantissa_bits = 0;
  check_call(H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits), where,
             " has a damaged type");
  check(sign < bits && exponent + exponent_bits <= bits && mantissa + mantissa_bits <= bits, where,
        " has a damaged type: floats of ", bits, " bits whose sign, exponent or mantissa lies outside");
}

std::optional<std::int64_t> integer_attribute(std::int64_t object, const std::string& name,
                                              const std::string& where) {
  const Silence silence;
  const Hdf5Id id = open_attribute(object, name, where);
  if (!id) return std::nullopt;
  const Hdf5Id type = own(H5Aget_type(*id), H5Tclose);
  check(H5Tget_class(*type) == H5T_INTEGER, where, " must be an integer, got ",
        class_name(H5Tget_class(*type)));
  check_bits(*type, where);
  std::int64_t value = 0;
  check_call(H5Aread(*id, H5T_NATIVE_INT64, &value), where, " cannot be read");
  return value;
}

std::optional<std::string> text_attribute(std::int64_t object, const std::string& name,
                                          const std::string& where) {
  const Silence silence;
  const Hdf5Id id = open_attribute(object, name, where);
  if (!id) return std::nullopt;
  const Hdf5Id type = own(H5Aget_type(*id), H5Tclose), space = own(H5Aget_space(*id), H5Sclose);
  check(H5Tget_class(*type) == H5T_STRING, where, " must be a string, got ", class_name(H5Tget_class(*type)));
  if (H5Tis_variable_str(*type) > 0) {
    char* characters = nullptr;
    check_call(H5Aread(*id, *type, &characters), where, " cannot be read");
    std::string value = characters ? characters : "";
    H5Dvlen_reclaim(*type, *space, H5P_DEFAULT, &characters);
    return value;
  }
  constexpr std::size_t kMaxLength = 1 << 20;
  const std::size_t length = H5Tget_size(*type);
  check(length <= kMaxLength, where, " declares ", length, " characters");
  std::string value(length, '\0');
  check_call(H5Aread(*id, *type, value.data()), where, " cannot be read");
  value.resize(std::min(length, value.find('\0')));
  return value;
}

}  // namespace rodeo::hdf5
