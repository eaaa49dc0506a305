#include "datasets/hdf5_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "datasets/hdf5/hdf5_api.h"

namespace rodeo {
namespace {

using hdf5::check_call;
using hdf5::own;
using hdf5::reason;
using hdf5::Silence;

/// Access to an object that no link to another file leads to.
Hdf5Id own_links(hid_t kind) {
  Hdf5Id access = own(H5Pcreate(kind), H5Pclose);
  const auto refuse = [](const char*, const char*, const char*, const char*, unsigned*, hid_t,
                         void*) -> herr_t { return -1; };
  H5Pset_elink_cb(*access, refuse, nullptr);
  return access;
}

Hdf5Id dataset_access() {
  Hdf5Id access = own_links(H5P_DATASET_ACCESS);
  // Blocks of rows can end within a chunk. The cache keeps such chunks, so that none is decompressed twice.
  constexpr std::size_t kCacheBytes = std::size_t{32} << 20, kCacheSlots = 12421;
  H5Pset_chunk_cache(*access, kCacheSlots, kCacheBytes, H5D_CHUNK_CACHE_W0_DEFAULT);
  return access;
}

}  // namespace

Hdf5File::Hdf5File(const std::string& path) : path_(path) {
  namespace fs = std::filesystem;
  const Silence silence;
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  check(status.type() != fs::file_type::not_found, path, ": no such file");
  check(!fs::is_directory(status), path, ": is a directory, not an HDF5 file");
  check(!fs::exists(status) || fs::is_regular_file(status), path, ": is not a regular file");
  file_ = std::make_shared<const FileDescriptor>(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  check(file_->get() >= 0, path, ": cannot be opened: ", std::strerror(errno));
  check(H5Fis_hdf5(path.c_str()) > 0, path, ": is not an HDF5 file: `rodeo_data import` converts others");
  id_ = own(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  check_call(*id_, path, ": is truncated or damaged");
}

Hdf5File Hdf5File::group(const std::string& name) const {
  const Silence silence;
  Hdf5File out;
  out.path_ = where(name), out.is_group_ = true, out.file_ = file_;
  check(has(name), out.path_, " is missing");
  out.id_ = own(H5Gopen2(*id_, name.c_str(), *own_links(H5P_GROUP_ACCESS)), H5Gclose);
  check(*out.id_ >= 0, out.path_, " must be a group of this file");
  return out;
}

std::string Hdf5File::where(const std::string& name) const {
  return str(path_, is_group_ ? "/" : ": /", name);
}

bool Hdf5File::has(const std::string& name) const {
  const Silence silence;
  const Hdf5Id access = own_links(H5P_LINK_ACCESS);
  for (std::size_t end = name.find('/'); end != std::string::npos; end = name.find('/', end + 1))
    if (H5Lexists(*id_, name.substr(0, end).c_str(), *access) <= 0) return false;
  return H5Lexists(*id_, name.c_str(), *access) > 0;
}

Hdf5Array Hdf5File::array(const std::string& name) const {
  const Silence silence;
  const std::string where = this->where(name);
  check(has(name), where, " is missing");
  const Hdf5Id access = dataset_access();
  const Hdf5Id dataset = own(H5Dopen2(*id_, name.c_str(), *access), H5Dclose);
  if (*dataset >= 0) return Hdf5Array(dataset, file_, where);

  const std::string cause = reason();  // before the next call clears it
  H5L_info_t link{};
  check(H5Lget_info(*id_, name.c_str(), &link, H5P_DEFAULT) >= 0, where, " cannot be read", cause);
  check(link.type == H5L_TYPE_HARD, where,
        " must be an array of this file, got a dangling link or a link to another file");
  H5O_info_t object{};
  const bool known = H5Oget_info_by_name(*id_, name.c_str(), &object, H5P_DEFAULT) >= 0;
  check(!known || object.type == H5O_TYPE_DATASET, where, " must be an array, got a ",
        object.type == H5O_TYPE_GROUP ? "group" : "named type");
  fail(where, " cannot be read", cause);
}

std::optional<std::int64_t> Hdf5File::integer(const std::string& attribute) const {
  return hdf5::integer_attribute(*id_, attribute, str(path_, ": attribute ", attribute));
}

std::optional<std::string> Hdf5File::text(const std::string& attribute) const {
  return hdf5::text_attribute(*id_, attribute, str(path_, ": attribute ", attribute));
}

}  // namespace rodeo
