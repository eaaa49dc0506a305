#include "tests/fuzz/seeds.h"

#include <hdf5.h>

#include <fstream>
#include <iterator>

#include "tests/datasets/parts.h"

namespace rodeo::fuzz {
namespace {

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// How an array of latest_format() is stored.
enum class Form { kPlain, kGzip, kFletcher, kScaleOffset, kExtendible };

template <class T>
void put(hid_t file, const char* name, hid_t in_file, hid_t in_memory, const std::vector<hsize_t>& sizes,
         const std::vector<T>& values, Form form) {
  const int rank = static_cast<int>(sizes.size());
  const std::vector<hsize_t> unlimited(sizes.size(), H5S_UNLIMITED);
  const hid_t space =
      H5Screate_simple(rank, sizes.data(), form == Form::kExtendible ? unlimited.data() : nullptr);
  const hid_t plan = H5Pcreate(H5P_DATASET_CREATE);
  std::vector<hsize_t> chunk = sizes;
  for (hsize_t& size : chunk) size = (size + 1) / 2;
  if (form != Form::kPlain) H5Pset_chunk(plan, rank, chunk.data());
  if (form == Form::kGzip) H5Pset_shuffle(plan), H5Pset_deflate(plan, 4);
  if (form == Form::kFletcher) H5Pset_fletcher32(plan);
  if (form == Form::kScaleOffset) H5Pset_scaleoffset(plan, H5Z_SO_INT, 0);
  const hid_t array = H5Dcreate2(file, name, in_file, space, H5P_DEFAULT, plan, H5P_DEFAULT);
  H5Dwrite(array, in_memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  H5Dclose(array);
  H5Pclose(plan);
  H5Sclose(space);
}

/// What our writer does not write: filters, extendible and big-endian arrays, chunk indices and, in the
/// newest format of HDF5, metadata with checksums.
std::string other_forms(const std::string& path, bool newest) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  if (newest) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  using Ids = std::vector<std::int64_t>;
  const hid_t wide = H5T_STD_I64LE, id = H5T_NATIVE_INT64;
  put<std::int64_t>(file, "edge_index", wide, id, {2, 5}, Ids{0, 1, 2, 3, 4, 1, 2, 3, 4, 5},
                    Form::kScaleOffset);
  put<float>(file, "x", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {6, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
             Form::kGzip);
  put<std::int64_t>(file, "y", H5T_STD_I32BE, id, {6}, Ids{0, 1, 2, 0, 1, -1}, Form::kExtendible);
  put<std::int64_t>(file, "train_mask", H5T_STD_U8LE, id, {6}, Ids{1, 1, 0, 0, 0, 0}, Form::kFletcher);
  put<std::int64_t>(file, "val_mask", H5T_STD_I16LE, id, {6}, Ids{0, 0, 1, 0, 0, 0}, Form::kGzip);
  put<std::int64_t>(file, "test_mask", H5T_STD_U8LE, id, {6}, Ids{0, 0, 0, 1, 1, 0}, Form::kPlain);
  const hid_t scalar = H5Screate(H5S_SCALAR);
  const hid_t attribute = H5Acreate2(file, "num_nodes", wide, scalar, H5P_DEFAULT, H5P_DEFAULT);
  constexpr std::int64_t kNodes = 6;
  H5Awrite(attribute, id, &kNodes);
  H5Aclose(attribute);
  H5Sclose(scalar);
  H5Fclose(file);
  H5Pclose(access);
  return content(path);
}

}  // namespace

std::vector<Seed> seeds(const std::string& folder) {
  std::vector<test::Parts> all(9);
  all[1].use_csr();
  all[1].edge_weight = Tensor::full({5}, 0.5);
  all[2].x = all[2].x.to(DType::kF16);
  all[2].y = Tensor::from<std::uint8_t>({1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0}, {6, 2});
  all[2].num_classes = {};
  for (Tensor* mask : {&all[3].train_mask, &all[3].val_mask, &all[3].test_mask}) {
    const Tensor two = Tensor::zeros({6, 2}, DType::kU8);
    for (int i = 0; i < 6; ++i) two.data<std::uint8_t>()[2 * i] = mask->data<std::uint8_t>()[i];
    *mask = two;
  }
  all[4].x = {};
  all[5].use_edges_only();
  // Valid headers that contradict each other: a byte mutation rarely makes these.
  all[6].val_mask = Tensor::full({4000}, 1, DType::kU8);
  all[7].y = Tensor::full({4000}, 2, DType::kI64);
  all[8].use_csr();
  all[8].indptr = Tensor::full({4000}, 5, DType::kI64);
  all[8].test_mask = Tensor::full({4000, 2}, 1, DType::kU8);
  std::vector<Seed> out;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const auto storage : {Hdf5Writer::Storage::kPlain, Hdf5Writer::Storage::kCompressed}) {
      const std::string path = folder + "/seed.h5";
      {
        Hdf5Writer file(path);
        all[i].write(file, storage);
        file.attribute("name", std::string("seed"));
        file.attribute("rodeo_schema", std::int64_t{1});
        if (i == 4) {
          file.write("x_indptr", test::ids({0, 2, 2, 3, 5, 5, 6}), storage);
          file.write("x_indices", test::ids({3, 0, 1, 2, 2, 0}), storage);
          file.write("x_data", Tensor::full({6}, 2), storage);
          file.write("node_id", test::ids({5, 4, 3, 2, 1, 0}), storage);
        }
        file.commit();
      }
      out.push_back({content(path), {}});
    }
  for (const bool newest : {false, true}) {
    const std::string bytes = other_forms(folder + "/other.h5", newest);
    for (int i = 0; i < 4; ++i)  // as often as several of the kinds above
      out.push_back({bytes, newest ? test::checksum_blocks(bytes) : std::vector<test::ChecksumBlock>()});
  }
  return out;
}

}  // namespace rodeo::fuzz
