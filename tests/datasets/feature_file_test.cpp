#include "datasets/feature_file.h"

#include <hdf5.h>

#include <filesystem>
#include <limits>
#include <numeric>

#include "datasets/dataset.h"
#include "datasets/hdf5/row_ranges.h"
#include "datasets/hdf5_writer.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"

namespace rodeo::test {
namespace {

std::vector<PlacedRow> placed(const std::vector<std::int64_t>& rows) {
  std::vector<PlacedRow> out;
  for (const std::int64_t row : rows) out.push_back({row, 0});
  return out;
}

TEST(DatasetsFeatureFile, RowsNearEachOtherAreOneRange) {
  using Ranges = std::vector<RowRange>;
  EXPECT_EQ(merge_rows({}, 8), Ranges());
  EXPECT_EQ(merge_rows(placed({5}), 8), (Ranges{{5, 1, 0, 1}}));
  EXPECT_EQ(merge_rows(placed({5, 6, 6, 7}), 1 << 16), (Ranges{{5, 3, 0, 4}}));
  // Rows of 1 KiB: a gap of 4 is read, one of 5 is not.
  EXPECT_EQ(merge_rows(placed({0, 5, 11}), 1024), (Ranges{{0, 6, 0, 2}, {11, 1, 2, 3}}));
  // A range ends at 1 MiB, repeated rows do not end it, and a row may be larger.
  EXPECT_EQ(merge_rows(placed({0, 1, 1, 2, 3}), kRangeBytes / 2), (Ranges{{0, 2, 0, 3}, {2, 2, 3, 5}}));
  EXPECT_EQ(merge_rows(placed({0, 1}), 2 * kRangeBytes), (Ranges{{0, 1, 0, 1}, {1, 1, 1, 2}}));
}

/// Writes x [nodes, features] alone.
std::string write(const TempDir& dir, const Tensor& x, const std::string& name = "x.h5") {
  Hdf5Writer file(dir / name);
  file.write("x", x);
  file.commit();
  return dir / name;
}

Tensor some(const Shape& shape, DType dtype) {
  return random_tensor(shape, DType::kF32, kCpu, 5).to(dtype);
}

std::vector<std::int64_t> scattered(std::int64_t count, std::int64_t rows) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(i * 7919 % rows);
  return out;
}

Tensor read(const FeatureFile& file, const std::vector<std::int64_t>& rows) {
  const Tensor out = Tensor::full({std::ssize(rows), file.shape()[1]},
                                  std::numeric_limits<double>::quiet_NaN(), file.dtype());
  file.start(rows, out.raw())->wait();
  return out;
}

void expect_rows(const Tensor& got, const Tensor& x, const std::vector<std::int64_t>& rows) {
  ASSERT_EQ(got.dim(0), std::ssize(rows));
  for (std::int64_t i = 0; i < got.dim(0); ++i) {
    const std::int64_t row = rows[static_cast<std::size_t>(i)];
    ASSERT_TRUE(same_bits(got.slice(i, i + 1), x.slice(row, row + 1))) << "row " << row;
  }
}

TEST(DatasetsFeatureFile, ReadsRowsInAnyOrder) {
  const TempDir dir;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16})
    for (const std::int64_t columns : {1, 7, 300}) {
      const Tensor x = some({3000, columns}, dtype);
      const FeatureFile file(write(dir, x));
      EXPECT_EQ(file.shape(), x.shape());
      EXPECT_EQ(file.dtype(), dtype);
      std::vector<std::int64_t> all(3000);
      std::iota(all.begin(), all.end(), 0);
      for (const auto& rows : {std::vector<std::int64_t>{}, {2999}, {5, 5, 4, 5}, scattered(2500, 3000), all})
        expect_rows(read(file, rows), x, rows);
    }
}

TEST(DatasetsFeatureFile, ReadsNoMoreThanItIsAskedFor) {
  const TempDir dir;
  const Tensor x = some({4000, 512}, DType::kF32);
  const FeatureFile file(write(dir, x));
  EXPECT_EQ(file.bytes_read(), 0);
  const std::vector<std::int64_t> rows{3, 1000, 2000, 2001};
  expect_rows(read(file, rows), x, rows);
  EXPECT_EQ(file.bytes_read(), 4 * 2048);
  expect_rows(read(file, {10, 12}), x, {10, 12});
  EXPECT_EQ(file.bytes_read(), 7 * 2048) << "with the row between";
}

TEST(DatasetsFeatureFile, ManyReadingsAtOnceAndSomeDropped) {
  const TempDir dir;
  const Tensor x = some({5000, 33}, DType::kF32);
  const FeatureFile file(write(dir, x));
  std::vector<std::vector<std::int64_t>> rows;
  std::vector<Tensor> out;
  std::vector<std::unique_ptr<FeatureFile::Reading>> readings;
  for (std::int64_t i = 0; i < 60; ++i) {
    rows.push_back(scattered(10 + 40 * i, 5000 - i));
    out.push_back(Tensor::empty({std::ssize(rows.back()), 33}));
    readings.push_back(file.start(rows.back(), out.back().raw()));
    if (i % 5 == 4) readings.back().reset();
  }
  for (std::size_t i = 60; i-- > 0;) {
    if (!readings[i]) continue;
    readings[i]->wait();
    expect_rows(out[i], x, rows[i]);
  }
}

// NumPy writes bf16 as such bits.
TEST(DatasetsFeatureFile, BitsOfBf16AreReadToo) {
  const TempDir dir;
  const Tensor x = some({40, 6}, DType::kBF16);
  const hid_t file = H5Fcreate((dir / "bits.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hsize_t sizes[] = {40, 6};
  const hid_t space = H5Screate_simple(2, sizes, nullptr), scalar = H5Screate(H5S_SCALAR);
  const hid_t array = H5Dcreate2(file, "x", H5T_STD_U16LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  ASSERT_GE(H5Dwrite(array, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, x.raw()), 0);
  const hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, 8);
  const hid_t attribute = H5Acreate2(array, "dtype", text, scalar, H5P_DEFAULT, H5P_DEFAULT);
  ASSERT_GE(H5Awrite(attribute, text, "bfloat16"), 0);
  H5Aclose(attribute), H5Tclose(text), H5Dclose(array), H5Sclose(scalar), H5Sclose(space), H5Fclose(file);

  const FeatureFile bits(dir / "bits.h5");
  EXPECT_EQ(bits.dtype(), DType::kBF16);
  expect_rows(read(bits, {39, 0, 7}), x, {39, 0, 7});
  unpack_features(dir / "bits.h5", dir / "floats.h5");
  const FeatureFile floats(dir / "floats.h5");
  EXPECT_EQ(floats.dtype(), DType::kBF16);
  expect_rows(read(floats, {39, 0, 7}), x, {39, 0, 7});
}

TEST(DatasetsFeatureFile, RefusesWhatItCannotRead) {
  const TempDir dir;
  const std::string remedy =
      ": /x cannot be read row by row: it is compressed, chunked, or not f32, f16 or bf16. Write a copy that "
      "can: rodeo_data unpack ";
  {
    Hdf5Writer packed(dir / "packed.h5");
    packed.write("x", some({40, 6}, DType::kF32), Hdf5Writer::Storage::kCompressed);
    packed.commit();
  }
  for (const auto& path : {dir / "packed.h5", write(dir, some({40, 6}, DType::kF64), "f64.h5"),
                           write(dir, Tensor::full({4, 4}, 1, DType::kI32), "integers.h5")}) {
    EXPECT_ERROR(FeatureFile(path), path + remedy + path + " OUT");
    EXPECT_EQ(feature_file_reason(path), path + remedy + path + " OUT");
    unpack_features(path, dir / "plain.h5");
    EXPECT_EQ(feature_file_reason(dir / "plain.h5"), "");
  }
  const std::string vector = write(dir, Tensor::full({4}, 1), "vector.h5");
  EXPECT_ERROR(FeatureFile(vector), vector + ": /x must be numbers [nodes, features], got [4]");
  EXPECT_ERROR(FeatureFile(dir / "none.h5"), dir / "none.h5: no such file");
  const FeatureFile file(write(dir, some({40, 6}, DType::kF32)));
  EXPECT_ERROR(file.start({0, 40}, nullptr), "[feature_file] row[1] = 40 is outside [0, 40)");
  EXPECT_ERROR(file.start({-1}, nullptr), "[feature_file] row[0] = -1 is outside [0, 40)");
}

TEST(DatasetsFeatureFile, NamesTheFirstValueThatIsNotFinite) {
  const TempDir dir;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    const Tensor x = Tensor::full({300, 40}, 1);
    x.data<float>()[200 * 40 + 39] = std::numeric_limits<float>::infinity();
    x.data<float>()[201 * 40 + 3] = -std::numeric_limits<float>::quiet_NaN();
    const std::string path = write(dir, x.to(dtype));
    const FeatureFile file(path);
    EXPECT_ERROR(read(file, {100, 200}), path + ": /x[200, 39] is not a finite float");
    EXPECT_ERROR(read(file, {201}), path + ": /x[201, 3] is not a finite float");
    expect_rows(read(file, {199, 202}), x.to(dtype), {199, 202});
  }
}

TEST(DatasetsFeatureFile, ATruncatedFileIsAnError) {
  const TempDir dir;
  const Tensor x = some({5000, 64}, DType::kF32);
  const std::string path = write(dir, x);
  const FeatureFile file(path);
  expect_rows(read(file, {4999}), x, {4999});
  const auto size = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, size - 2500 * 64 * 4);
  expect_rows(read(file, {7}), x, {7});
  EXPECT_ERROR(read(file, {4999}),
               path + ": /x[4999] is beyond the end of the file: it was truncated after it was opened");
  for (int i = 0; i < 10; ++i)
    EXPECT_NE(error_of([&] { read(file, scattered(5000, 5000)); }).find("] is beyond the end of the file"),
              std::string::npos);
  expect_rows(read(file, {7, 8}), x, {7, 8});  // goes on
  EXPECT_NE(error_of([&] { FeatureFile again(path); }), "");
}

TEST(DatasetsFeatureFile, UnpackingKeepsTheDataset) {
  const TempDir dir;
  Dataset dataset = tiny_dataset();
  dataset.class_names = {"a", "b", "c", "d", "e", "f", "g"};
  dataset.edge_weight = Tensor::full({dataset.num_edges()}, 0.5);
  save_dataset(dataset, dir / "packed.h5");
  unpack_features(dir / "packed.h5", dir / "plain.h5");
  const Dataset want = load_dataset(dir / "packed.h5", {.all_splits = true}),
                got = load_dataset(dir / "plain.h5", {.all_splits = true});
  EXPECT_EQ(got.name, want.name);
  EXPECT_EQ(got.class_names, want.class_names);
  EXPECT_EQ(got.num_classes, want.num_classes);
  for (const auto member : {&Dataset::src, &Dataset::dst, &Dataset::edge_weight, &Dataset::x, &Dataset::y})
    EXPECT_TRUE(same_bits(got.*member, want.*member));
  EXPECT_TRUE(same_bits(got.split.train, want.split.train));
  EXPECT_NE(feature_file_reason(dir / "packed.h5"), "");
  EXPECT_EQ(feature_file_reason(dir / "plain.h5"), "");
  unpack_features(dir / "plain.h5", dir / "plain.h5");  // over itself
  EXPECT_TRUE(same_bits(load_dataset(dir / "plain.h5").x, want.x));
}

}  // namespace
}  // namespace rodeo::test
