#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/quoting.h"
#include "datasets/hdf5/hdf5_api.h"
#include "datasets/hdf5_file.h"

namespace rodeo {
namespace {

using hdf5::check_call;
using hdf5::class_name;
using hdf5::own;
using hdf5::Silence;

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
  // The limit also applies to each dimension: a product with a dimension of 0 is always small.
  constexpr auto kLimit = static_cast<hsize_t>(Hdf5File::kMaxElements);
  hsize_t elements = 1;
  for (int i = 0; i < rank; ++i) {
    check(sizes[i] <= kLimit && (elements == 0 || sizes[i] <= kLimit / elements), where,
          " declares more than 2^40 elements");
    elements *= sizes[i];
  }
  return Shape(std::vector<std::int64_t>(sizes.begin(), sizes.begin() + rank));
}

hsize_t file_size_of(hid_t dataset) {
  const Hdf5Id file = own(H5Iget_file_id(dataset), H5Fclose);
  hsize_t bytes = 0;
  H5Fget_filesize(*file, &bytes);
  return bytes;
}

// The error of HDF5 for a missing filter names a plugin folder instead of the filter.
void check_filters(hid_t plan, const std::string& where) {
  for (int i = 0; i < H5Pget_nfilters(plan); ++i) {
    char name[32] = "";
    std::size_t no_parameters = 0;
    const H5Z_filter_t filter =
        H5Pget_filter2(plan, i, nullptr, &no_parameters, nullptr, sizeof name, name, nullptr);
    check(H5Zfilter_avail(filter) > 0, where, " is compressed by ", printable(name), " (filter ", filter,
          "), which this HDF5 library does not have");
  }
}

// All chunks must be in the file, so that a damaged header cannot cause a huge allocation.
void check_chunks(hid_t dataset, hid_t plan, const Shape& shape, std::size_t width,
                  const std::string& where) {
  std::array<hsize_t, Shape::kMaxRank> sizes{};
  check(H5Pget_chunk(plan, Shape::kMaxRank, sizes.data()) == shape.rank(), where, " has damaged chunks");
  constexpr hsize_t kLargest = hsize_t{1} << 30;
  hsize_t bytes = width, wanted = 1, written = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    check(sizes[i] > 0 && sizes[i] <= kLargest / bytes, where, " has chunks of more than 1 GiB");
    bytes *= sizes[i];
    wanted *= (static_cast<hsize_t>(shape[i]) + sizes[i] - 1) / sizes[i];
  }
  const Hdf5Id space = own(H5Dget_space(dataset), H5Sclose);
  check_call(H5Dget_num_chunks(dataset, *space, &written), where, " cannot be read");
  check(written >= wanted, where, " was written in part: ", written, " of ", wanted, " chunks");
}

// Virtual and external storage could read any file of the machine.
void check_storage(hid_t dataset, hid_t type, const Shape& shape, const std::string& where) {
  const Hdf5Id plan = own(H5Dget_create_plist(dataset), H5Pclose);
  const H5D_layout_t layout = H5Pget_layout(*plan);
  check(layout != H5D_VIRTUAL && H5Pget_external_count(*plan) == 0, where,
        " must be stored in this file, but its values are in another");
  check_filters(*plan, where);
  if (shape.numel() == 0) return;
  const hsize_t stored = H5Dget_storage_size(dataset);
  const std::size_t width = H5Tget_size(type);
  check(stored > 0, where, " was never written");
  if (layout == H5D_CHUNKED) return check_chunks(dataset, *plan, shape, width, where);
  check(stored >= static_cast<hsize_t>(shape.numel()) * width && stored <= file_size_of(dataset), where,
        " declares ", shape.numel(), " values of ", width, " bytes, but has ", stored, " bytes in a file of ",
        file_size_of(dataset), " bytes");
}

// Reads `count` values of a block as `type`, as read_chunks() does. H5Dread() leaves what was in memory where
// the index of the chunks has none.
bool convert_chunks(hid_t dataset, int rank, const hdf5::Block& block, std::int64_t count, hid_t type,
                    void* out, const std::string& where) {
  const Hdf5Id in_file = own(H5Dget_type(dataset), H5Tclose);
  const std::size_t from = H5Tget_size(*in_file), to = H5Tget_size(type);
  const auto n = static_cast<std::size_t>(count);
  std::vector<unsigned char> values(n * std::max(from, to));
  if (!hdf5::read_chunks(dataset, rank, block, from, values.data(), where)) return false;
  check_call(H5Tconvert(*in_file, type, n, values.data(), nullptr, H5P_DEFAULT), where, " cannot be read");
  std::copy_n(values.data(), n * to, static_cast<unsigned char*>(out));
  return true;
}

}  // namespace

Hdf5Array::Hdf5Array(Hdf5Id id, std::shared_ptr<const FileDescriptor> file, std::string where)
    : id_(std::move(id)), file_(std::move(file)), where_(std::move(where)) {
  const Hdf5Id space = own(H5Dget_space(*id_), H5Sclose);
  check_call(*space, where_, " cannot be read");
  const Hdf5Id type = own(H5Dget_type(*id_), H5Tclose);
  check_call(*type, where_, " cannot be read");
  shape_ = shape_in_file(*space, where_);
  const std::optional<DType> dtype = dtype_in_file(*type);
  check(H5Tget_class(*type) != H5T_FLOAT || H5Tget_size(*type) <= sizeof(double), where_, " has floats of ",
        8 * H5Tget_size(*type), " bits: write float64, float32 or float16");
  check(dtype.has_value(), where_, " must be numeric, got ", class_name(H5Tget_class(*type)), " ", shape_);
  hdf5::check_bits(*type, where_);
  dtype_ = *dtype;
  // NumPy has no bfloat16, so it is stored as integers with an attribute.
  if (H5Tget_class(*type) == H5T_INTEGER && H5Tget_size(*type) == 2) {
    const auto meant = hdf5::text_attribute(*id_, "dtype", where_ + ": attribute dtype");
    check(!meant || *meant == "bfloat16" || meant->ends_with("int16"), where_,
          ": attribute dtype of 16-bit integers must be bfloat16, got '", printable(meant.value_or("")),
          "': HDF5 has a type for other floats");
    if (meant == "bfloat16") dtype_ = DType::kBF16, bits_ = true;
  }
  is_bool_ = H5Tget_class(*type) == H5T_ENUM;
  native_ = !bits_ && H5Tequal(*type, *hdf5::memory_type(dtype_)) > 0;
  check_storage(*id_, *type, shape_, where_);

  const Hdf5Id plan = own(H5Dget_create_plist(*id_), H5Pclose);
  const H5D_layout_t layout = H5Pget_layout(*plan);
  const bool plain_bits =
      bits_ && (H5Tequal(*type, H5T_NATIVE_UINT16) > 0 || H5Tequal(*type, H5T_NATIVE_INT16) > 0);
  if (layout == H5D_CONTIGUOUS && (native_ || plain_bits) && shape_.numel() > 0) {
    const haddr_t offset = H5Dget_offset(*id_);
    if (offset != HADDR_UNDEF) offset_ = static_cast<std::int64_t>(offset);
  }
  std::array<hsize_t, Shape::kMaxRank> chunk{};
  if (layout == H5D_CHUNKED && H5Pget_chunk(*plan, Shape::kMaxRank, chunk.data()) > 0)
    chunk_rows_ = static_cast<std::int64_t>(chunk[0]);
}

std::optional<Hdf5Array::Plain> Hdf5Array::plain() const {
  if (offset_ < 0) return std::nullopt;
  return Plain{file_, offset_};
}

// Multi-threaded, because copying from the page cache and the page faults of the destination are CPU-bound.
bool Hdf5Array::read_plain(std::int64_t begin, std::int64_t count, std::size_t width, void* out) const {
  constexpr std::int64_t kPiece = std::int64_t{1}
                                  << 18;  // small, so that a block of 4 MiB keeps all threads busy
  const std::int64_t bytes = count * static_cast<std::int64_t>(width);
  const std::int64_t from = offset_ + begin * static_cast<std::int64_t>(width);
  const std::int64_t pieces = (bytes + kPiece - 1) / kPiece;
  int failures = 0;
#pragma omp parallel for schedule(static) reduction(+ : failures) if (pieces > 1)
  for (std::int64_t i = 0; i < pieces; ++i) {
    std::int64_t at = i * kPiece;
    const std::int64_t end = std::min(at + kPiece, bytes);
    while (at < end) {
      const ssize_t got =
          ::pread(file_->get(), static_cast<char*>(out) + at, static_cast<std::size_t>(end - at), from + at);
      if (got <= 0) break;
      at += got;
    }
    failures += at < end;
  }
  return failures == 0;
}

void Hdf5Array::read(const Shape& start, const Shape& count, DType dtype, void* out) const {
  const Silence silence;
  const int rank = shape_.rank(), lead = rank - count.rank();
  check(lead >= 0 && start.rank() == rank, where_, " of shape ", shape_, " cannot be read from ", start,
        " into ", count);
  std::array<hsize_t, Shape::kMaxRank> first{}, size{};
  for (int i = 0; i < rank; ++i) {
    first[i] = static_cast<hsize_t>(start[i]);
    size[i] = i < lead ? 1 : static_cast<hsize_t>(count[i - lead]);
    check(start[i] >= 0 && first[i] + size[i] <= static_cast<hsize_t>(shape_[i]), where_, " of shape ",
          shape_, " ends before ", start, " + ", count);
  }
  if (count.numel() == 0) return;
  if (bits_ && dtype != DType::kBF16) {
    const Tensor bits = Tensor::empty(count, DType::kBF16);
    read(start, count, DType::kBF16, bits.raw());
    bits.to(dtype).copy_to_host(out);
    return;
  }
  if (native_ && dtype == dtype_ && rank >= 1 && rank <= 2) {
    const bool whole_rows = rank == 1 || size[0] == 1 || static_cast<std::int64_t>(size[1]) == shape_[1];
    const std::int64_t begin = rank == 1 ? start[0] : start[0] * shape_[1] + start[1];
    if (offset_ >= 0 && whole_rows) {
      check(read_plain(begin, count.numel(), size_of(dtype), out), where_, " cannot be read");
      return;
    }
  }
  const Hdf5Id type = bits_ ? own(H5Tcopy(H5T_NATIVE_UINT16), H5Tclose) : hdf5::memory_type(dtype);
  if (offset_ < 0 && chunk_rows_ > 0 && rank <= 2) {
    const int at = rank - 1;  // the last dimension
    const hdf5::Block block{
        {rank == 1 ? 0 : start[0], start[at]},
        {rank == 1 ? 1 : static_cast<std::int64_t>(size[0]), static_cast<std::int64_t>(size[at])}};
    if (native_ && dtype == dtype_) {
      if (hdf5::read_chunks(*id_, rank, block, size_of(dtype), out, where_)) return;
    } else if (convert_chunks(*id_, rank, block, count.numel(), *type, out, where_)) {
      return;
    }
  }
  const Hdf5Id file = own(H5Dget_space(*id_), H5Sclose);
  const Hdf5Id memory = own(H5Screate_simple(rank, size.data(), nullptr), H5Sclose);
  if (rank > 0) H5Sselect_hyperslab(*file, H5S_SELECT_SET, first.data(), nullptr, size.data(), nullptr);
  check_call(H5Dread(*id_, *type, *memory, *file, H5P_DEFAULT, out), where_, " cannot be read");
}

void Hdf5Array::read(const Shape& start, const Tensor& out) const {
  check(out.device() == kCpu, where_, " is read into host memory");
  read(start, out.shape(), out.dtype(), out.raw());
}

void Hdf5Array::rehearse(DType dtype) const {
  const Silence silence;
  const int rank = shape_.rank();
  if (shape_.numel() == 0) return;
  if (native_ && dtype == dtype_ && (rank == 1 || rank == 2)) {
    const bool vector = rank == 1;
    const hdf5::Block all{{0, 0}, {vector ? 1 : shape_[0], shape_[-1]}};
    if (offset_ >= 0 || hdf5::fetch_chunks(*id_, rank, all, size_of(dtype), where_)) return;
  }
  if (rank == 0 || rank > 2) return static_cast<void>(read(dtype));
  // HDF5 converts or decompresses. Values in one piece are all converted in the same way: a block is enough.
  constexpr std::int64_t kBlock = std::int64_t{1} << 20;
  const Hdf5Id plan = own(H5Dget_create_plist(*id_), H5Pclose);
  const bool chunked = H5Pget_layout(*plan) == H5D_CHUNKED;
  const std::int64_t columns = rank == 2 ? shape_[1] : 1, width = std::min(columns, kBlock);
  const std::int64_t wanted = std::max(kBlock / width, std::min(chunk_rows_, kBlock));
  const std::int64_t rows = std::min(shape_[0], wanted);
  const Tensor values = Tensor::empty({rows * width}, dtype);
  for (std::int64_t row = 0; row < shape_[0]; row += rows)
    for (std::int64_t column = 0; column < columns; column += width) {
      const std::int64_t n = std::min(rows, shape_[0] - row), m = std::min(width, columns - column);
      read(rank == 2 ? Shape{row, column} : Shape{row}, rank == 2 ? Shape{n, m} : Shape{n}, dtype,
           values.raw());
      if (!chunked) return;
    }
}

Tensor Hdf5Array::read(DType dtype) const {
  const Tensor out = Tensor::empty(shape_, dtype);
  read(Shape(std::vector<std::int64_t>(shape_.sizes().size())), out);  // from the first element
  return out;
}

}  // namespace rodeo
