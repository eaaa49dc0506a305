// Types and versions that a dataset file may not have.
#include "datasets/dataset.h"
#include "datasets/edge_split.h"
#include "datasets/hdf5_file.h"
#include "tests/datasets/raw_hdf5.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/temp_dir.h"

namespace rodeo {
namespace {

using test::bytes_of;
using test::make_raw;
using test::raw_array;
using test::TempDir;
using test::write_bytes;

TEST(DatasetsHdf5Types, BoolsAreNoIds) {
  const TempDir dir;
  const std::string path = dir / "a.h5";
  make_raw(path, [](hid_t file) {
    const hid_t boolean = H5Tenum_create(H5T_NATIVE_INT8);
    const std::int8_t no = 0, yes = 1, ends[] = {0, 1, 1, 0};
    H5Tenum_insert(boolean, "FALSE", &no);
    H5Tenum_insert(boolean, "TRUE", &yes);
    for (const char* name : {"edge_index", "val_edges"}) raw_array(file, name, boolean, {2, 2}, ends);
    H5Tclose(boolean);
  });
  EXPECT_TRUE(Hdf5File(path).array("edge_index").is_bool());
  EXPECT_ERROR(load_dataset(path), path + ": /edge_index must be integer [2, edges], got bool [2, 2]");
  EXPECT_ERROR(load_edge_split(path, 2), path + ": /val_edges must be integer [2, edges], got bool [2, 2]");
}

TEST(DatasetsHdf5Types, WhatANewerLibraryWroteIsSaid) {
  const TempDir dir;
  const std::string path = dir / "a.h5";
  make_raw(path, [](hid_t) {});
  std::string bytes = bytes_of(path);
  bytes[8] = 9;  // version of the superblock
  write_bytes(path, bytes);
  EXPECT_ERROR(
      Hdf5File{path},
      path +
          ": is truncated or damaged (bad superblock version number): it is damaged, or a newer HDF5 "
          "library wrote it: write it for older ones, with h5py by File(name, 'w', libver='v110')");
}

TEST(DatasetsHdf5Types, ANameOfATypeOnIntegersOf16BitsIsBfloat16) {
  const TempDir dir;
  const std::string path = dir / "a.h5";
  make_raw(path, [](hid_t file) {
    const std::uint16_t values[] = {15360, 0};
    raw_array(file, "x", H5T_NATIVE_UINT16, {2}, values);
    const hid_t x = H5Dopen2(file, "x", H5P_DEFAULT), scalar = H5Screate(H5S_SCALAR),
                text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, 8);
    const hid_t attribute = H5Acreate2(x, "dtype", text, scalar, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, text, "float16");
    H5Aclose(attribute), H5Tclose(text), H5Sclose(scalar), H5Dclose(x);
  });
  EXPECT_ERROR(
      Hdf5File(path).array("x"),
      path +
          ": /x: attribute dtype of 16-bit integers must be bfloat16, got 'float16': HDF5 has a type for "
          "other floats");
}

}  // namespace
}  // namespace rodeo
