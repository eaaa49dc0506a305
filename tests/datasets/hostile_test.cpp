/// Malicious files: declared sizes without data, cycles, references and unsupported objects.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <fstream>

#include "datasets/hdf5_file.h"
#include "tests/support/devices.h"
#include "tests/support/temp_dir.h"
#include "train/io/atomic_file.h"

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

/// A file with a chunked array /x of `shape` and one chunk of raw bytes, to which `skipped` filters were not
/// applied.
void packed(hid_t file, std::vector<hsize_t> shape, std::vector<hsize_t> chunk, const std::string& bytes,
            std::uint32_t skipped) {
  const int rank = static_cast<int>(shape.size());
  const hid_t space = H5Screate_simple(rank, shape.data(), nullptr), plan = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(plan, rank, chunk.data());
  H5Pset_shuffle(plan);
  H5Pset_deflate(plan, 1);
  const hid_t array = H5Dcreate2(file, "x", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, plan, H5P_DEFAULT);
  const std::vector<hsize_t> origin(shape.size(), 0);
  EXPECT_GE(H5Dwrite_chunk(array, H5P_DEFAULT, skipped, origin.data(), bytes.size(), bytes.data()), 0);
  H5Dclose(array);
  H5Pclose(plan);
  H5Sclose(space);
}

// HDF5 leaves out the compression of a chunk that would grow; each chunk says which filters were applied.
TEST_F(DatasetsHostile, ChunksSkipFilters) {
  const std::vector<float> values{1.5f, -2, 3e7f, 0.25f};
  const std::string plain(reinterpret_cast<const char*>(values.data()), 16);
  std::string shuffled;
  for (int byte = 0; byte < 4; ++byte)
    for (int i = 0; i < 4; ++i) shuffled += plain[4 * i + byte];
  for (const auto& [bytes, skipped] : {std::pair{plain, 3u}, std::pair{shuffled, 2u}}) {
    const std::string path = dir_ / "a.h5";
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    packed(file, {4}, {4}, bytes, skipped);
    H5Fclose(file);
    EXPECT_EQ(Hdf5File(path).array("x").read(DType::kF32).to_vector<float>(), values) << skipped;
  }
  EXPECT_EQ(error([&](hid_t f) { packed(f, {4}, {4}, plain, 0); }), ": /x cannot be read (inflate() failed)");
  EXPECT_EQ(error([&](hid_t f) { packed(f, {4}, {4}, plain + "x", 3); }),
            ": /x cannot be read (inflate() failed)");
  EXPECT_EQ(error([&](hid_t f) { packed(f, {4}, {4}, plain.substr(1), 3); }),
            ": /x cannot be read (inflate() failed)");
}

// The only chunk of four values claims to begin at element 4. HDF5 leaves the memory of the values as it was.
TEST_F(DatasetsHostile, ChunksAreWhereTheyAreRead) {
  for (const bool filters : {true, false}) {
    const std::string path = dir_ / "a.h5";
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (filters)
      packed(file, {4}, {4}, std::string(16, 'x'), 3);
    else
      chunked(file, 4, 4, 4);
    H5Fclose(file);
    std::string bytes = read_file(path, 1 << 20);
    const std::size_t index = bytes.find(std::string("TREE\x01", 5));
    ASSERT_NE(index, std::string::npos);
    bytes[index + 32] = 4;  // the first key: size, filters that were skipped, position
    std::ofstream(path, std::ios::binary) << bytes;
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kI32, DType::kI64})
      EXPECT_EQ(test::error_of([&] { Hdf5File(path).array("x").read(dtype); }),
                path + ": /x cannot be read (chunk storage is not allocated)")
          << filters << dtype;
  }
}

TEST_F(DatasetsHostile, ChunksHaveLimits) {
  constexpr hsize_t kLarge = (hsize_t{1} << 28) + 1;  // floats of more than 1 GiB
  EXPECT_EQ(error([&](hid_t f) { packed(f, {kLarge}, {kLarge}, "packed", 0); }),
            ": /x has chunks of more than 1 GiB");
  EXPECT_EQ(error([&](hid_t f) {
              packed(f, {kLarge, 2}, {kLarge / 2 + 1, 2}, "packed", 0);
            }),
            ": /x has chunks of more than 1 GiB");
  // A chunk of 64 KiB that takes 129 MiB in the file.
  const std::string huge(std::size_t{129} << 20, '\0');
  EXPECT_EQ(error([&](hid_t f) { packed(f, {16384}, {16384}, huge, 3); }),
            str(": /x cannot be read (a chunk declares ", huge.size(), " bytes)"));
}

// The sizes in the headers of a contiguous array, changed in the file.
TEST_F(DatasetsHostile, SizesThatTheFileDoesNotHave) {
  constexpr std::int64_t kCount = 123457, kMore = 123459;
  const std::string path = dir_ / "a.h5";
  const auto written = [&](std::int64_t count, std::int64_t bytes) {
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hsize_t size = kCount;
    const hid_t space = H5Screate_simple(1, &size, nullptr);
    const hid_t array = H5Dcreate2(file, "x", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const std::vector<int> values(kCount, 0);
    H5Dwrite(array, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(array);
    H5Sclose(space);
    H5Fclose(file);
    std::string content = read_file(path, 10'000'000);
    const auto word = [](std::int64_t value) {
      return std::string(reinterpret_cast<const char*>(&value), sizeof value);
    };
    for (const auto& [from, to] : {std::pair{word(kCount), word(count)}, {word(4 * kCount), word(bytes)}})
      for (std::size_t at = 0; (at = content.find(from, at)) != std::string::npos; at += 8)
        content.replace(at, 8, to);
    write_file(path, content);
    return content.size();
  };
  const auto error_of_size = [&](std::int64_t count, std::int64_t bytes) {
    const std::size_t size = written(count, bytes);
    const std::string text = test::error_of([&] { Hdf5File(path).array("x"); }).substr(path.size());
    return std::pair(text, size);
  };
  written(kCount, 4 * kCount);
  EXPECT_EQ(Hdf5File(path).array("x").shape(), (Shape{kCount}));
  const auto [fewer, size] = error_of_size(kMore, 4 * kCount);
  EXPECT_EQ(fewer, str(": /x declares ", kMore, " values of 4 bytes, but has ", 4 * kCount,
                       " bytes in a file of ", size, " bytes"));
  const auto [beyond, same] = error_of_size(1 << 30, std::int64_t{4} << 30);
  EXPECT_EQ(beyond, str(": /x declares ", 1 << 30, " values of 4 bytes, but has ", std::int64_t{4} << 30,
                        " bytes in a file of ", same, " bytes"));
}

// The type in the header of an array or attribute, changed in the file: HDF5 would convert memory beside the
// values, of another content in each run, or divide by their size.
TEST_F(DatasetsHostile, TypesWhoseBitsAreOutsideTheirBytes) {
  const std::string path = dir_ / "a.h5";
  const auto changed = [&](const std::string& type, std::size_t at, const std::string& bytes) {
    std::string content = read_file(path, 10'000'000);
    const std::size_t place = content.find(type);
    EXPECT_NE(place, std::string::npos);
    write_file(path, content.replace(place + at, bytes.size(), bytes));
  };
  const std::string integers("\x10\x08\0\0\x04\0\0\0\0\0\x20\0", 12);  // signed, 4 bytes, 32 bits
  const auto error = [&](std::size_t at, const std::string& bytes) {
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    chunked(file, 100, 50, 100);
    H5Fclose(file);
    changed(integers, at, bytes);
    return test::error_of([&] { Hdf5File(path).array("x"); }).substr(path.size());
  };
  EXPECT_EQ(error(4, std::string(1, '\0')), ": /x has a damaged type, of values without bytes");
  EXPECT_EQ(error(8, "\x08"), ": /x has a damaged type: values of 4 bytes with 32 bits from bit 8");
  EXPECT_EQ(error(10, "\x40"), ": /x has a damaged type: values of 4 bytes with 64 bits from bit 0");
  EXPECT_EQ(error(10, std::string(1, '\0')),
            ": /x has a damaged type: values of 4 bytes with 0 bits from bit 0");

  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t one = H5Screate(H5S_SCALAR),
              attribute = H5Acreate2(file, "n", H5T_NATIVE_INT, one, H5P_DEFAULT, H5P_DEFAULT);
  H5Aclose(attribute);
  H5Sclose(one);
  H5Fclose(file);
  changed(integers, 9, "\x01");
  EXPECT_EQ(test::error_of([&] { Hdf5File(path).integer("n"); }).substr(path.size()),
            ": attribute n has a damaged type: values of 4 bytes with 32 bits from bit 256");
}

}  // namespace
}  // namespace rodeo
