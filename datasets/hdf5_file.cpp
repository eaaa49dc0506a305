#include "datasets/hdf5_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "datasets/hdf5_api.h"

namespace rodeo {
namespace {

using hdf5::check_call;
using hdf5::own;
using hdf5::reason;
using hdf5::Silence;

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

std::optional<DType> dtype_in_file(hid_t type) {
  const std::size_t size = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER: {
      const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
      if (size == 1 && !is_signed) return DType::kU8;
      if (size < 4 || (size == 4 && is_signed)) return DType::kI32;
      return size <= 8 ? std::optional(DType::kI64) : std::nullopt;
    }
    case H5T_FLOAT:
      if (size == 2) return H5Tget_ebias(type) == 127 ? DType::kBF16 : DType::kF16;
      return size <= 4 ? DType::kF32 : DType::kF64;
    case H5T_ENUM:  // how h5py writes bool
      return size == 1 && H5Tget_nmembers(type) == 2 ? std::optional(DType::kU8) : std::nullopt;
    default:
      return std::nullopt;
  }
}

Shape shape_in_file(hid_t space, const std::string& where) {
  const int rank = H5Sget_simple_extent_ndims(space);
  check(rank >= 0 && H5Sget_simple_extent_type(space) != H5S_NULL, where, " has no shape");
  check(rank <= Shape::kMaxRank, where, " must have at most ", Shape::kMaxRank, " dimensions, got ", rank);
  std::array<hsize_t, Shape::kMaxRank> sizes{};
  H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
  // The limit holds for every dimension by itself: behind a 0 an absurd one would pass the product.
  constexpr auto kLimit = static_cast<hsize_t>(Hdf5File::kMaxElements);
  hsize_t elements = 1;
  for (int i = 0; i < rank; ++i) {
    check(sizes[i] <= kLimit && (elements == 0 || sizes[i] <= kLimit / elements), where,
          " claims more than 2^40 elements");
    elements *= sizes[i];
  }
  const auto size = [&](int i) { return static_cast<std::int64_t>(sizes[i]); };
  switch (rank) {
    case 0:
      return {};
    case 1:
      return {size(0)};
    case 2:
      return {size(0), size(1)};
    case 3:
      return {size(0), size(1), size(2)};
    default:
      return {size(0), size(1), size(2), size(3)};
  }
}

// Virtual and external storage would read files of the dataset's choice. HDF5 itself names a folder of
// plugins where it lacks a filter.
void check_storage(hid_t dataset, const Shape& shape, const std::string& where) {
  const Hdf5Id plan = own(H5Dget_create_plist(dataset), H5Pclose);
  check(H5Pget_layout(*plan) != H5D_VIRTUAL && H5Pget_external_count(*plan) == 0, where,
        " must be stored in this file, but its values are in another");
  check(shape.numel() == 0 || H5Dget_storage_size(dataset) > 0, where, " was never written");
  for (int i = 0; i < H5Pget_nfilters(*plan); ++i) {
    char name[32] = "";
    std::size_t no_parameters = 0;
    const H5Z_filter_t filter =
        H5Pget_filter2(*plan, i, nullptr, &no_parameters, nullptr, sizeof name, name, nullptr);
    check(H5Zfilter_avail(filter) > 0, where, " is compressed by ", name, " (filter ", filter,
          "), which this HDF5 library does not have");
  }
}

Hdf5Id dataset_access() {
  Hdf5Id access = own(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  const auto refuse = [](const char*, const char*, const char*, const char*, unsigned*, hid_t,
                         void*) -> herr_t { return -1; };
  H5Pset_elink_cb(*access, refuse, nullptr);
  // Blocks of rows cut compressed chunks: keep those on the border, so that none is unpacked twice.
  constexpr std::size_t kCacheBytes = std::size_t{32} << 20, kCacheSlots = 12421;
  H5Pset_chunk_cache(*access, kCacheSlots, kCacheBytes, H5D_CHUNK_CACHE_W0_DEFAULT);
  return access;
}

}  // namespace

Hdf5Array::Hdf5Array(Hdf5Id id, std::string where) : id_(std::move(id)), where_(std::move(where)) {
  const Hdf5Id space = own(H5Dget_space(*id_), H5Sclose);
  check_call(*space, where_, " cannot be read");
  const Hdf5Id type = own(H5Dget_type(*id_), H5Tclose);
  check_call(*type, where_, " cannot be read");
  shape_ = shape_in_file(*space, where_);
  const std::optional<DType> dtype = dtype_in_file(*type);
  check(dtype.has_value(), where_, " must be numeric, got ", class_name(H5Tget_class(*type)), " ", shape_);
  dtype_ = *dtype;
  check_storage(*id_, shape_, where_);
}

void Hdf5Array::read(const Shape& start, const Tensor& out) const {
  const Silence silence;
  const int rank = shape_.rank(), lead = rank - out.rank();
  check(out.device() == kCpu && lead >= 0 && start.rank() == rank, where_, " of shape ", shape_,
        " cannot be read from ", start, " into ", out.shape());
  std::array<hsize_t, Shape::kMaxRank> offset{}, count{};
  for (int i = 0; i < rank; ++i) {
    offset[i] = static_cast<hsize_t>(start[i]);
    count[i] = i < lead ? 1 : static_cast<hsize_t>(out.dim(i - lead));
    check(offset[i] + count[i] <= static_cast<hsize_t>(shape_[i]), where_, " of shape ", shape_,
          " ends before ", start, " + ", out.shape());
  }
  if (out.numel() == 0) return;
  const Hdf5Id file = own(H5Dget_space(*id_), H5Sclose);
  const Hdf5Id memory = own(H5Screate_simple(rank, count.data(), nullptr), H5Sclose);
  if (rank > 0) H5Sselect_hyperslab(*file, H5S_SELECT_SET, offset.data(), nullptr, count.data(), nullptr);
  check_call(H5Dread(*id_, *hdf5::memory_type(out.dtype()), *memory, *file, H5P_DEFAULT, out.raw()), where_,
             " cannot be read");
}

Tensor Hdf5Array::read(DType dtype) const {
  const Tensor out = Tensor::empty(shape_, dtype);
  const std::int64_t none = 0;
  switch (shape_.rank()) {
    case 0:
      read({}, out);
      break;
    case 1:
      read({none}, out);
      break;
    case 2:
      read({none, none}, out);
      break;
    case 3:
      read({none, none, none}, out);
      break;
    default:
      read({none, none, none, none}, out);
  }
  return out;
}

Hdf5File::Hdf5File(const std::string& path) : path_(path) {
  namespace fs = std::filesystem;
  const Silence silence;
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  check(status.type() != fs::file_type::not_found, path, ": no such file");
  check(!fs::is_directory(status), path, ": is a directory, not an HDF5 file");
  check(!fs::exists(status) || fs::is_regular_file(status), path, ": is not a regular file");
  check(std::ifstream(path).is_open(), path, ": cannot be opened: ", std::strerror(errno));
  check(H5Fis_hdf5(path.c_str()) > 0, path, ": is not an HDF5 file");
  id_ = own(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  check_call(*id_, path, ": is truncated or damaged");
}

bool Hdf5File::has(const std::string& name) const {
  const Silence silence;
  return H5Lexists(*id_, name.c_str(), H5P_DEFAULT) > 0;
}

Hdf5Array Hdf5File::array(const std::string& name) const {
  const Silence silence;
  const std::string where = str(path_, ": /", name);
  check(has(name), where, " is missing");
  const Hdf5Id access = dataset_access();
  const Hdf5Id dataset = own(H5Dopen2(*id_, name.c_str(), *access), H5Dclose);
  if (*dataset >= 0) return Hdf5Array(dataset, where);

  const std::string cause = reason();  // before another call forgets it
  H5L_info_t link{};
  check(H5Lget_info(*id_, name.c_str(), &link, H5P_DEFAULT) >= 0, where, " cannot be read", cause);
  check(link.type == H5L_TYPE_HARD, where,
        " must be an array of this file, got a link that leads nowhere in it");
  H5O_info_t object{};
  const bool known = H5Oget_info_by_name(*id_, name.c_str(), &object, H5P_DEFAULT) >= 0;
  check(!known || object.type == H5O_TYPE_DATASET, where, " must be an array, got a ",
        object.type == H5O_TYPE_GROUP ? "group" : "named type");
  fail(where, " cannot be read", cause);
}

namespace {

// An attribute of one element, or nothing where there is none.
Hdf5Id open_attribute(hid_t file, const std::string& name, const std::string& where) {
  if (H5Aexists(file, name.c_str()) <= 0) return nullptr;
  Hdf5Id attribute = own(H5Aopen(file, name.c_str(), H5P_DEFAULT), H5Aclose);
  check_call(*attribute, where, " cannot be read");
  const Hdf5Id space = own(H5Aget_space(*attribute), H5Sclose);
  const hssize_t elements = H5Sget_simple_extent_npoints(*space);
  check(elements == 1, where, " must be one value, got ", elements);
  return attribute;
}

}  // namespace

std::optional<std::int64_t> Hdf5File::integer(const std::string& attribute) const {
  const Silence silence;
  const std::string where = str(path_, ": attribute ", attribute);
  const Hdf5Id id = open_attribute(*id_, attribute, where);
  if (!id) return std::nullopt;
  const Hdf5Id type = own(H5Aget_type(*id), H5Tclose);
  check(H5Tget_class(*type) == H5T_INTEGER, where, " must be an integer, got ",
        class_name(H5Tget_class(*type)));
  std::int64_t value = 0;
  check_call(H5Aread(*id, H5T_NATIVE_INT64, &value), where, " cannot be read");
  return value;
}

std::optional<std::string> Hdf5File::text(const std::string& attribute) const {
  const Silence silence;
  const std::string where = str(path_, ": attribute ", attribute);
  const Hdf5Id id = open_attribute(*id_, attribute, where);
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
  check(length <= kMaxLength, where, " claims ", length, " characters");
  std::string value(length, '\0');
  check_call(H5Aread(*id, *type, value.data()), where, " cannot be read");
  value.resize(std::min(length, value.find('\0')));
  return value;
}

}  // namespace rodeo
