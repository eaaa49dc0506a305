#include "datasets/hdf5_writer.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>

#include "core/output_path.h"
#include "datasets/hdf5/hdf5_api.h"

namespace rodeo {
namespace {

namespace fs = std::filesystem;
using hdf5::check_call;
using hdf5::own;
using hdf5::reason;
using hdf5::Silence;
using Sizes = std::array<hsize_t, Shape::kMaxRank>;

Sizes sizes_of(const Shape& shape) {
  Sizes sizes{};
  for (int i = 0; i < shape.rank(); ++i) sizes[i] = static_cast<hsize_t>(shape[i]);
  return sizes;
}

// Chunks of about 1 MiB: whole rows, or a part of a longer row.
Sizes chunk_of(const Shape& shape, DType dtype) {
  const hsize_t elements = (hsize_t{1} << 20) / size_of(dtype);
  Sizes chunk = sizes_of(shape);
  hsize_t row = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    chunk[i] = std::min(chunk[i], std::max<hsize_t>(elements / row, 1));
    row *= chunk[i];
  }
  return chunk;
}

/// Bytes that may be added to a file, without some for what describes the data. H5Ocopy crashes where writing
/// fails (HDF5 1.10), so that room is checked first.
std::uintmax_t room(const fs::path& file) {
  constexpr std::uintmax_t kDescription = 16 << 10;
  std::error_code none;
  const std::uintmax_t written = fs::file_size(file, none);
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const auto allowed = limit.rlim_cur > written ? limit.rlim_cur - written : 0;
  const auto free =
      std::min<std::uintmax_t>(fs::space(fs::absolute(file).parent_path(), none).available, allowed);
  return free > kDescription ? free - kDescription : 0;
}

}  // namespace

Hdf5Writer::Hdf5Writer(const std::string& path) : path_(path) {
  const OutputPath output = output_path(path);
  target_ = output.target;
  partial_ = output.partial;
  check(!partial_.empty(), path, ": cannot be written: is a device or pipe, and HDF5 needs a file");
  const Silence silence;
  id_ = own(H5Fcreate(partial_.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  if (*id_ >= 0) return;
  const std::string cause = reason();
  const fs::path folder = fs::absolute(target_).parent_path();
  check(fs::is_directory(folder), path, ": cannot be written: no such folder");
  fail(path, ": cannot be written", cause);
}

Hdf5Writer::~Hdf5Writer() {
  group_.reset(), id_.reset();
  std::error_code ignored;
  if (!partial_.empty()) fs::remove(partial_, ignored);
}

Hdf5Id Hdf5Writer::create(const std::string& name, DType dtype, const Shape& shape, Storage storage) {
  const Hdf5Id plan = own(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_fill_time(*plan, H5D_FILL_TIME_NEVER);  // every value is written
  H5Pset_obj_track_times(*plan, false);          // equal data makes an identical file
  if (storage == Storage::kCompressed && shape.rank() > 0 && shape.numel() > 0) {
    constexpr unsigned kGzipLevel = 4;
    H5Pset_chunk(*plan, shape.rank(), chunk_of(shape, dtype).data());
    H5Pset_shuffle(*plan);
    H5Pset_deflate(*plan, kGzipLevel);
  }
  const Hdf5Id space = own(H5Screate_simple(shape.rank(), sizes_of(shape).data(), nullptr), H5Sclose);
  Hdf5Id dataset = own(
      H5Dcreate2(place(), name.c_str(), *hdf5::memory_type(dtype), *space, H5P_DEFAULT, *plan, H5P_DEFAULT),
      H5Dclose);
  check_call(*dataset, path_, ": /", name, " cannot be created");
  return dataset;
}

void Hdf5Writer::write(const std::string& name, const Tensor& values, Storage storage) {
  const Silence silence;
  check(values.defined() && values.device() == kCpu, path_, ": /", name,
        " must be written from a host tensor");
  const Hdf5Id dataset = create(name, values.dtype(), values.shape(), storage);
  if (values.numel() == 0) return;
  check_call(
      H5Dwrite(*dataset, *hdf5::memory_type(values.dtype()), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.raw()),
      path_, ": /", name, " cannot be written");
}

void Hdf5Writer::write_rows(const std::string& name, const std::vector<Tensor>& rows, Storage storage) {
  const Silence silence;
  for (const Tensor& row : rows)
    check(row.defined() && row.device() == kCpu && row.rank() == 1 && row.shape() == rows[0].shape() &&
              row.dtype() == rows[0].dtype(),
          path_, ": /", name, " must be written from host tensors [n] of one dtype");
  const hsize_t length = static_cast<hsize_t>(rows.at(0).numel());
  const Hdf5Id dataset =
      create(name, rows[0].dtype(), {static_cast<std::int64_t>(rows.size()), rows[0].numel()}, storage);
  if (length == 0) return;
  const Hdf5Id file = own(H5Dget_space(*dataset), H5Sclose),
               memory = own(H5Screate_simple(1, &length, nullptr), H5Sclose);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const hsize_t start[] = {i, 0}, count[] = {1, length};
    H5Sselect_hyperslab(*file, H5S_SELECT_SET, start, nullptr, count, nullptr);
    check_call(
        H5Dwrite(*dataset, *hdf5::memory_type(rows[i].dtype()), *memory, *file, H5P_DEFAULT, rows[i].raw()),
        path_, ": /", name, " cannot be written");
  }
}

void Hdf5Writer::write_blocks(const std::string& name, DType dtype, const Shape& shape,
                              const std::function<Tensor(std::int64_t begin)>& block) {
  const Silence silence;
  const Hdf5Id dataset = create(name, dtype, shape, Storage::kPlain);
  if (shape.numel() == 0) return;
  const Hdf5Id file = own(H5Dget_space(*dataset), H5Sclose);
  for (std::int64_t begin = 0; begin < shape[0];) {
    const Tensor rows = block(begin);
    check(rows.device() == kCpu && rows.dtype() == dtype && rows.rank() == 2 && rows.dim(0) > 0 &&
              begin + rows.dim(0) <= shape[0] && rows.dim(1) == shape[1],
          path_, ": /", name, " must be written from host tensors [rows, ", shape[1], "] of ", dtype);
    const Sizes size = sizes_of(rows.shape());
    const hsize_t start[] = {static_cast<hsize_t>(begin), 0};
    const Hdf5Id memory = own(H5Screate_simple(2, size.data(), nullptr), H5Sclose);
    H5Sselect_hyperslab(*file, H5S_SELECT_SET, start, nullptr, size.data(), nullptr);
    check_call(H5Dwrite(*dataset, *hdf5::memory_type(dtype), *memory, *file, H5P_DEFAULT, rows.raw()), path_,
               ": /", name, " cannot be written");
    begin += rows.dim(0);
  }
}

void Hdf5Writer::copy(const std::string& name, const Hdf5File& from) {
  const Silence silence;
  const Hdf5Id source = own(H5Dopen2(*from.id_, name.c_str(), H5P_DEFAULT), H5Dclose);
  check_call(*source, path_, ": /", name, " cannot be copied");
  const std::uintmax_t bytes = H5Dget_storage_size(*source);
  check(room(partial_) > bytes, path_, ": /", name, " cannot be copied: it needs ", bytes,
        " bytes: ", kNoRoom);
  check_call(H5Ocopy(*from.id_, name.c_str(), place(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), path_, ": /",
             name, " cannot be copied");
}

void Hdf5Writer::enter(const std::string& group) {
  const Silence silence;
  const Hdf5Id links = own(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(*links, 1);
  group_ = own(H5Gcreate2(*id_, group.c_str(), *links, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  check_call(*group_, path_, ": /", group, " cannot be created");
}

void Hdf5Writer::attribute(const std::string& name, std::int64_t value) {
  const Silence silence;
  const Hdf5Id space = own(H5Screate(H5S_SCALAR), H5Sclose);
  const Hdf5Id id =
      own(H5Acreate2(place(), name.c_str(), H5T_STD_I64LE, *space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  check(*id >= 0 && H5Awrite(*id, H5T_NATIVE_INT64, &value) >= 0, path_, ": attribute ", name,
        " cannot be written");
}

void Hdf5Writer::attribute(const std::string& name, const std::string& value) {
  const Silence silence;
  const Hdf5Id space = own(H5Screate(H5S_SCALAR), H5Sclose), type = own(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(*type, H5T_VARIABLE);
  H5Tset_cset(*type, H5T_CSET_UTF8);
  const Hdf5Id id = own(H5Acreate2(place(), name.c_str(), *type, *space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  const char* characters = value.c_str();
  check(*id >= 0 && H5Awrite(*id, *type, &characters) >= 0, path_, ": attribute ", name,
        " cannot be written");
}

void Hdf5Writer::commit() {
  group_.reset();
  {
    const Silence silence;
    check_call(H5Fflush(*id_, H5F_SCOPE_LOCAL), path_,
               ": cannot be written");  // H5Fclose does not report a full disk
  }
  id_.reset();
  std::error_code failure;
  fs::rename(partial_, target_, failure);  // after a failure the destructor removes the partial file
  if (!failure) partial_.clear();
  check(!failure, path_, ": cannot be written: ", failure.message());
}

}  // namespace rodeo
