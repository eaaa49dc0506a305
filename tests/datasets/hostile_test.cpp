/// Malicious files: declared sizes without data, cycles, references and unsupported objects.
#include <gtest/gtest.h>
#include <hdf5.h>

#include "datasets/hdf5_file.h"
#include "tests/support/devices.h"
#include "tests/support/temp_dir.h"

namespace rodeo {
namespace {

using test::TempDir;

class DatasetsHostile : public testing::Test {
 protected:
  template <class Fill>
  std::string error(Fill&& fill) {
    const std::string path = dir_ / "a.h5";
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    fill(file);
    H5Fclose(file);
    return test::error_of([&] { Hdf5File(path).array("x").read(DType::kF32); }).substr(path.size());
  }
  static void chunked(hid_t file, hsize_t size, hsize_t chunk, hsize_t written) {
    const hid_t space = H5Screate_simple(1, &size, nullptr), plan = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plan, 1, &chunk);
    const hid_t array = H5Dcreate2(file, "x", H5T_NATIVE_INT, space, H5P_DEFAULT, plan, H5P_DEFAULT);
    const hsize_t start = 0;
    const std::vector<int> values(written, 7);
    const hid_t memory = H5Screate_simple(1, &written, nullptr);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, nullptr, &written, nullptr);
    H5Dwrite(array, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, values.data());
    H5Dclose(array);
    H5Pclose(plan);
    H5Sclose(memory);
    H5Sclose(space);
  }
  TempDir dir_;
};

TEST_F(DatasetsHostile, ChunksThatWereNeverWritten) {
  EXPECT_EQ(error([](hid_t f) { chunked(f, hsize_t{1} << 39, 1 << 20, 10); }),
            ": /x was written in part: 1 of 524288 chunks");
}

TEST_F(DatasetsHostile, CyclesAndReferences) {
  EXPECT_EQ(error([](hid_t f) { H5Lcreate_hard(f, "/", f, "x", H5P_DEFAULT, H5P_DEFAULT); }),
            ": /x must be an array, got a group");
  EXPECT_EQ(error([](hid_t f) { H5Lcreate_soft("/x", f, "x", H5P_DEFAULT, H5P_DEFAULT); }),
            ": /x must be an array of this file, got a dangling link or a link to another file");
  EXPECT_EQ(error([](hid_t f) {
              const hsize_t one = 1;
              const hid_t space = H5Screate_simple(1, &one, nullptr);
              const hid_t array =
                  H5Dcreate2(f, "x", H5T_STD_REF_OBJ, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
              hobj_ref_t reference;
              H5Rcreate(&reference, f, "/", H5R_OBJECT, -1);
              H5Dwrite(array, H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, &reference);
              H5Dclose(array);
              H5Sclose(space);
            }),
            ": /x must be numeric, got reference [1]");
}

}  // namespace
}  // namespace rodeo
