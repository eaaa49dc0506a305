/// HDF5 files with objects that Hdf5Writer does not write.
#pragma once

#include <gtest/gtest.h>
#include <hdf5.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace rodeo::test {

/// A file written through the HDF5 API, for objects that Hdf5Writer cannot write.
inline void make_raw(const std::string& path, const std::function<void(hid_t)>& fill) {
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  ASSERT_GE(file, 0);
  fill(file);
  H5Fclose(file);
}

inline void raw_array(hid_t file, const char* name, hid_t type, std::vector<hsize_t> shape,
                      const void* values, hid_t plan = H5P_DEFAULT, hid_t memory_type = -1) {
  const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
  const hid_t array = H5Dcreate2(file, name, type, space, H5P_DEFAULT, plan, H5P_DEFAULT);
  ASSERT_GE(array, 0);
  if (values) {
    ASSERT_GE(H5Dwrite(array, memory_type < 0 ? type : memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values),
              0);
  }
  H5Dclose(array);
  H5Sclose(space);
}

inline std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace rodeo::test
