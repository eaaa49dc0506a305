#include "datasets/hdf5_file.h"

#include <gtest/gtest.h>
#include <hdf5.h>
#include <unistd.h>

#include <functional>
#include <new>

#include "datasets/hdf5_writer.h"
#include "tests/datasets/raw_hdf5.h"
#include "tests/support/address_space.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace rodeo {
namespace {

using test::bytes_of;
using test::make_raw;
using test::raw_array;
using test::same_bits;
using test::TempDir;
using test::write_bytes;
using Packing = Hdf5Writer::Storage;

Tensor ramp(const Shape& shape, DType dtype) {
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 100);
  return Tensor::from(values, shape).to(dtype);
}

TEST(DatasetsHdf5File, EveryTypeRankAndStorageComesBack) {
  const TempDir dir;
  const std::vector<DType> dtypes{DType::kF64, DType::kF32, DType::kBF16, DType::kF16,
                                  DType::kI64, DType::kI32, DType::kU8};
  const std::vector<Shape> shapes{{}, {5}, {3, 4}, {2, 3, 4}, {2, 3, 4, 5}, {0}, {4, 0}, {1, 700000}};
  for (const DType dtype : dtypes)
    for (const Packing storage : {Packing::kPlain, Packing::kCompressed}) {
      Hdf5Writer writer(dir / "a.h5");
      for (std::size_t i = 0; i < shapes.size(); ++i)
        writer.write(str("a", i), ramp(shapes[i], dtype), storage);
      writer.commit();
      const Hdf5File file(dir / "a.h5");
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        const Hdf5Array array = file.array(str("a", i));
        EXPECT_EQ(array.dtype(), dtype);
        EXPECT_TRUE(same_bits(array.read(dtype), ramp(shapes[i], dtype))) << dtype << " " << shapes[i];
      }
    }
}

TEST(DatasetsHdf5File, CompressionShrinksAndPartsComeBack) {
  const TempDir dir;
  const Tensor x = ramp({3000, 700}, DType::kF32);
  for (const Packing storage : {Packing::kPlain, Packing::kCompressed}) {
    Hdf5Writer writer(dir / (storage == Packing::kPlain ? "plain.h5" : "packed.h5"));
    writer.write("x", x, storage);
    writer.commit();
  }
  EXPECT_LT(bytes_of(dir / "packed.h5").size(), bytes_of(dir / "plain.h5").size() / 10);

  const Hdf5File file(dir / "packed.h5");
  const Hdf5Array array = file.array("x");
  const Tensor rows = Tensor::empty({700, 700});
  array.read({1000, 0}, rows);
  EXPECT_TRUE(same_bits(rows, x.slice(1000, 1700)));
  const Tensor part = Tensor::empty({20}, DType::kI64);
  array.read({2999, 650}, part);
  EXPECT_EQ(part.to_vector<std::int64_t>(),
            x.slice(2999, 3000).reshape({700}).slice(650, 670).to(DType::kI64).to_vector<std::int64_t>());
  EXPECT_ERROR(array.read({2999, 690}, part),
               str(dir / "packed.h5", ": /x of shape [3000, 700] ends before [2999, 690] + [20]"));
}

TEST(DatasetsHdf5File, RowsFillAMatrix) {
  const TempDir dir;
  Hdf5Writer writer(dir / "a.h5");
  writer.write_rows("m", {Tensor::from<std::int32_t>({1, 2, 3}), Tensor::from<std::int32_t>({4, 5, 6})});
  writer.commit();
  const Tensor m = Hdf5File(dir / "a.h5").array("m").read(DType::kI32);
  EXPECT_TRUE(same_bits(m, Tensor::from<std::int32_t>({1, 2, 3, 4, 5, 6}, {2, 3})));
}

TEST(DatasetsHdf5File, ForeignTypesAreReadAsOurs) {
  const TempDir dir;
  const std::string path = dir / "a.h5";
  make_raw(path, [](hid_t file) {
    const std::int8_t small[] = {-1, 0, 1};
    raw_array(file, "i8", H5T_NATIVE_INT8, {3}, small);
    const std::uint32_t wide[] = {0, 7, 4000000000u};
    raw_array(file, "u32", H5T_NATIVE_UINT32, {3}, wide);
    const std::uint64_t huge[] = {1, ~std::uint64_t{0}};
    raw_array(file, "u64", H5T_NATIVE_UINT64, {2}, huge);
    const float values[] = {1.5f, -2};
    raw_array(file, "big_endian", H5T_IEEE_F32BE, {2}, values, H5P_DEFAULT, H5T_NATIVE_FLOAT);
    const hid_t boolean = H5Tenum_create(H5T_NATIVE_INT8);  // as h5py writes numpy.bool_
    const std::int8_t no = 0, yes = 1, flags[] = {0, 1, 1};
    H5Tenum_insert(boolean, "FALSE", &no);
    H5Tenum_insert(boolean, "TRUE", &yes);
    raw_array(file, "bool", boolean, {3}, flags);
    H5Tclose(boolean);
  });
  const Hdf5File file(path);
  const auto integers = [&](const char* name, DType dtype) {
    EXPECT_EQ(file.array(name).dtype(), dtype) << name;
    return file.array(name).read(DType::kI64).to_vector<std::int64_t>();
  };
  EXPECT_EQ(integers("i8", DType::kI32), (std::vector<std::int64_t>{-1, 0, 1}));
  EXPECT_EQ(integers("u32", DType::kI64), (std::vector<std::int64_t>{0, 7, 4000000000}));
  EXPECT_EQ(integers("u64", DType::kI64),
            (std::vector<std::int64_t>{1, std::numeric_limits<std::int64_t>::max()}));
  EXPECT_EQ(integers("bool", DType::kU8), (std::vector<std::int64_t>{0, 1, 1}));
  EXPECT_EQ(file.array("big_endian").read(DType::kF32).to_vector<float>(), (std::vector<float>{1.5f, -2}));
}

TEST(DatasetsHdf5File, Attributes) {
  const TempDir dir;
  const std::string path = dir / "a.h5";
  make_raw(path, [](hid_t file) {
    const hid_t scalar = H5Screate(H5S_SCALAR), fixed = H5Tcopy(H5T_C_S1);
    H5Tset_size(fixed, 8);
    const auto put = [&](const char* name, hid_t type, hid_t space, const void* value) {
      const hid_t attribute = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
      H5Awrite(attribute, type, value);
      H5Aclose(attribute);
    };
    put("fixed", fixed, scalar, "cora\0\0\0");
    const std::int16_t seven = 7;
    put("seven", H5T_NATIVE_INT16, scalar, &seven);
    const double half = 0.5;
    put("half", H5T_NATIVE_DOUBLE, scalar, &half);
    const hsize_t two = 2;
    const hid_t pair = H5Screate_simple(1, &two, nullptr);
    const int values[] = {1, 2};
    put("pair", H5T_NATIVE_INT, pair, values);
    for (const hid_t space : {scalar, pair}) H5Sclose(space);
    H5Tclose(fixed);
  });
  const Hdf5File file(path);
  EXPECT_EQ(file.text("fixed"), "cora");
  EXPECT_EQ(file.integer("seven"), 7);
  EXPECT_EQ(file.integer("absent"), std::nullopt);
  EXPECT_EQ(file.text("absent"), std::nullopt);
  EXPECT_ERROR(file.integer("half"), path + ": attribute half must be an integer, got float");
  EXPECT_ERROR(file.integer("fixed"), path + ": attribute fixed must be an integer, got string");
  EXPECT_ERROR(file.text("seven"), path + ": attribute seven must be a string, got integer");
  EXPECT_ERROR(file.integer("pair"), path + ": attribute pair must be one value, got 2");

  Hdf5Writer writer(dir / "b.h5");
  writer.attribute("name", std::string("Zürich — 図"));
  writer.attribute("empty", std::string());
  writer.attribute("count", std::int64_t{-5000000000});
  writer.commit();
  const Hdf5File ours(dir / "b.h5");
  EXPECT_EQ(ours.text("name"), "Zürich — 図");
  EXPECT_EQ(ours.text("empty"), "");
  EXPECT_EQ(ours.integer("count"), -5000000000);
}

TEST(DatasetsHdf5File, WhatIsNoArrayOfNumbersIsNamed) {
  const TempDir dir;
  const std::string path = dir / "a.h5", other = dir / "other.h5";
  const int values[] = {1, 2, 3, 4};
  make_raw(other, [&](hid_t file) { raw_array(file, "x", H5T_NATIVE_INT, {4}, values); });
  make_raw(path, [&](hid_t file) {
    raw_array(file, "x", H5T_NATIVE_INT, {4}, values);
    H5Gclose(H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const hid_t text = H5Tcopy(H5T_C_S1);
    raw_array(file, "string", text, {4}, "abcd");
    H5Tclose(text);
    const hid_t pair = H5Tcreate(H5T_COMPOUND, 8);
    H5Tinsert(pair, "a", 0, H5T_NATIVE_INT);
    H5Tinsert(pair, "b", 4, H5T_NATIVE_INT);
    raw_array(file, "compound", pair, {2}, values);
    H5Tclose(pair);
    const hid_t ragged = H5Tvlen_create(H5T_NATIVE_INT);
    raw_array(file, "ragged", ragged, {1, 2}, nullptr);
    H5Tclose(ragged);
    const long double wide[] = {1, 2};
    raw_array(file, "wide", H5T_NATIVE_LDOUBLE, {2}, wide);
    raw_array(file, "deep", H5T_NATIVE_INT, {1, 1, 1, 2, 2}, values);
    const hid_t null = H5Screate(H5S_NULL);
    H5Dclose(H5Dcreate2(file, "null", H5T_NATIVE_INT, null, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(null);

    H5Lcreate_soft("/x", file, "inside", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/nowhere", file, "dangling", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external(other.c_str(), "/x", file, "outside", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external(other.c_str(), "/", file, "door", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/door/x", file, "behind_the_door", H5P_DEFAULT, H5P_DEFAULT);

    const hid_t external = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(external, (dir / "secret").c_str(), 0, 16);
    raw_array(file, "external", H5T_NATIVE_INT, {4}, nullptr, external);
    H5Pclose(external);
    const hid_t chunked = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk[] = {1024, 1024};
    H5Pset_chunk(chunked, 2, chunk);
    const hid_t foreign = H5Pcopy(chunked);
    const auto keep = [](unsigned, std::size_t, const unsigned*, std::size_t size, std::size_t*, void**) {
      return size;
    };
    const H5Z_class2_t filter{H5Z_CLASS_T_VERS, 300, 1, 1, "homemade", nullptr, nullptr, keep};
    H5Zregister(&filter);
    H5Pset_filter(foreign, 300, 0, 0, nullptr);
    raw_array(file, "foreign", H5T_NATIVE_INT, {1024, 1024}, std::vector<int>(1 << 20).data(), foreign);
    H5Pclose(foreign);
    raw_array(file, "hollow", H5T_NATIVE_INT, {4096, 4096}, nullptr, chunked);
    raw_array(file, "absurd", H5T_NATIVE_INT, {hsize_t{1} << 33, hsize_t{1} << 33}, nullptr, chunked);
    raw_array(file, "large", H5T_NATIVE_INT, {hsize_t{1} << 20, (hsize_t{1} << 20) + 1}, nullptr, chunked);
    H5Pclose(chunked);
  });
  H5Zunregister(300);
  const Hdf5File file(path);
  const std::vector<std::pair<const char*, const char*>> cases{
      {"foreign", " is compressed by homemade (filter 300), which this HDF5 library does not have"},
      {"absent", " is missing"},
      {"group", " must be an array, got a group"},
      {"string", " must be numeric, got string [4]"},
      {"compound", " must be numeric, got compound [2]"},
      {"ragged", " must be numeric, got variable-length [1, 2]"},
      {"wide", " has floats of 128 bits: write float64, float32 or float16"},
      {"deep", " must have at most 4 dimensions, got 5"},
      {"null", " has no shape"},
      {"dangling", " must be an array of this file, got a dangling link or a link to another file"},
      {"outside", " must be an array of this file, got a dangling link or a link to another file"},
      {"behind_the_door", " must be an array of this file, got a dangling link or a link to another file"},
      {"external", " must be stored in this file, but its values are in another"},
      {"hollow", " was never written"},
      {"absurd", " declares more than 2^40 elements"},
      {"large", " declares more than 2^40 elements"},
  };
  for (const auto& c : cases) EXPECT_ERROR(file.array(c.first), str(path, ": /", c.first, c.second));
  EXPECT_EQ(file.array("inside").read(DType::kI32).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{1, 2, 3, 4}));
  EXPECT_TRUE(file.has("group"));
  EXPECT_FALSE(file.has("absent"));
}

TEST(DatasetsHdf5File, VirtualArraysAreRefused) {
  const TempDir dir;
  const std::string path = dir / "a.h5";
  make_raw(path, [&](hid_t file) {
    const hsize_t four = 4;
    const hid_t space = H5Screate_simple(1, &four, nullptr), plan = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_virtual(plan, space, (dir / "other.h5").c_str(), "/x", space);
    raw_array(file, "v", H5T_NATIVE_INT, {4}, nullptr, plan);
    H5Pclose(plan);
    H5Sclose(space);
  });
  EXPECT_ERROR(Hdf5File(path).array("v"),
               path + ": /v must be stored in this file, but its values are in another");
}

TEST(DatasetsHdf5File, WhatIsNoHdf5FileIsNamed) {
  const TempDir dir;
  EXPECT_ERROR(Hdf5File(dir / "absent.h5"), dir / "absent.h5: no such file");
  EXPECT_ERROR(Hdf5File(dir / "absent" + "/cora.h5"), dir / "absent/cora.h5: no such file");
  EXPECT_ERROR(Hdf5File(dir / "."), dir / ".: is a directory, not an HDF5 file");
  EXPECT_ERROR(Hdf5File("/dev/null"), "/dev/null: is not a regular file");
  write_bytes(dir / "empty.h5", "");
  EXPECT_ERROR(Hdf5File(dir / "empty.h5"),
               dir / "empty.h5: is not an HDF5 file: `rodeo_data import` converts others");
  std::string noise;
  for (std::uint64_t i = 0; i < 5000; ++i) noise += static_cast<char>(random_word(3, 0, i));
  write_bytes(dir / "noise.h5", noise);
  EXPECT_ERROR(Hdf5File(dir / "noise.h5"),
               dir / "noise.h5: is not an HDF5 file: `rodeo_data import` converts others");
  write_bytes(dir / "signed.h5", "\x89HDF\r\n\x1a\n" + noise);
  EXPECT_EQ(
      test::error_of([&] { Hdf5File(dir / "signed.h5"); }).find(dir / "signed.h5: is truncated or damaged"),
      0u);
}

TEST(DatasetsHdf5File, EveryTruncationIsAnErrorOfOneLine) {
  const TempDir dir;
  Hdf5Writer writer(dir / "whole.h5");
  writer.attribute("name", std::string("whole"));
  writer.write("x", ramp({40, 20}, DType::kF32));
  writer.write("packed", ramp({40, 20}, DType::kF32), Packing::kCompressed);
  writer.commit();
  const std::string whole = bytes_of(dir / "whole.h5"), path = dir / "cut.h5";
  ASSERT_GT(whole.size(), 3000u);
  for (std::size_t size = 0; size < whole.size(); size += 97) {
    write_bytes(path, whole.substr(0, size));
    const std::string error = test::error_of([&] { Hdf5File(path).array("x").read(DType::kF32); });
    EXPECT_EQ(error.find(path + ": is "), 0u) << size << " bytes: " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

// HDF5 detects damage to its own structures. Its message about damaged values must reach the user.
TEST(DatasetsHdf5File, DamagedValuesAreAnError) {
  const TempDir dir;
  const std::string path = dir / "a.h5";
  Hdf5Writer writer(path);
  writer.write("x", ramp({40, 20}, DType::kF32), Packing::kCompressed);
  writer.commit();
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t array = H5Dopen2(file, "x", H5P_DEFAULT);
  const hsize_t origin[] = {0, 0};
  haddr_t begin = 0;
  hsize_t size = 0;
  ASSERT_GE(H5Dget_chunk_info_by_coord(array, origin, nullptr, &begin, &size), 0);
  H5Dclose(array);
  H5Fclose(file);

  const std::string whole = bytes_of(path);
  for (hsize_t i = 0; i < size; ++i) {
    std::string bytes = whole;
    bytes[begin + i] = static_cast<char>(~bytes[begin + i]);
    write_bytes(path, bytes);
    EXPECT_ERROR(Hdf5File(path).array("x").read(DType::kF32),
                 path + ": /x cannot be read (inflate() failed)");
  }
}

// Chunks are decompressed 64 MiB at a time.
TEST(DatasetsHdf5File, ManyChunksComeBack) {
  const TempDir dir;
  const Tensor x = Tensor::zeros({66, 1 << 20}, DType::kU8);
  for (std::int64_t row = 0; row < 66; ++row)
    x.data<std::uint8_t>()[row << 20] = static_cast<std::uint8_t>(row + 1);
  Hdf5Writer writer(dir / "a.h5");
  writer.write("x", x, Packing::kCompressed);
  writer.commit();
  EXPECT_TRUE(same_bits(Hdf5File(dir / "a.h5").array("x").read(DType::kU8), x));
}

// The values fit into the address space, and the buffer of a chunk does not.
TEST(DatasetsHdf5File, TooLittleMemoryForAChunkIsNoDamage) {
  if (test::sanitized()) GTEST_SKIP() << "sanitizers need the address space";
  const TempDir dir;
  constexpr hsize_t kSize = hsize_t{64} << 20;  // more than is left in the heap of a thread
  make_raw(dir / "a.h5", [&](hid_t file) {
    const hid_t plan = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_deflate(plan, 1);
    const hsize_t few = 100;
    H5Pset_chunk(plan, 1, &few);
    raw_array(file, "few", H5T_NATIVE_UCHAR, {few}, std::vector<unsigned char>(few).data(), plan);
    H5Pset_chunk(plan, 1, &kSize);
    raw_array(file, "x", H5T_NATIVE_UCHAR, {kSize}, std::vector<unsigned char>(kSize).data(), plan);
    H5Pclose(plan);
  });
  const Hdf5File file(dir / "a.h5");
  const Hdf5Array array = file.array("x");
  file.array("few").read(DType::kU8);  // starts the threads
  const auto read_with_little_memory = [&] {
    const test::AddressSpaceLimit limit(96 << 20);
    try {
      array.read(DType::kU8);
    } catch (const std::bad_alloc&) {
      _exit(4);
    }
    _exit(0);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, whose heap has no room from other tests
  EXPECT_EXIT(read_with_little_memory(), testing::ExitedWithCode(4), "");
}

TEST(DatasetsHdf5File, FailuresPrintNothing) {
  const TempDir dir;
  write_bytes(dir / "bad.h5", "\x89HDF\r\n\x1a\n and then nonsense");
  testing::internal::CaptureStderr();
  test::error_of([&] { Hdf5File(dir / "bad.h5"); });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  // The error handler of the process is restored: HDF5 prints its errors again.
  testing::internal::CaptureStderr();
  EXPECT_LT(H5Fopen((dir / "bad.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), 0);
  EXPECT_NE(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace rodeo
