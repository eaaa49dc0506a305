// Planetoid files that contradict one another. import_test.cpp reads Cora.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "datasets/import.h"
#include "datasets/import/pickle.h"
#include "tests/datasets/parts.h"
#include "tests/datasets/pickles.h"
#include "tests/support/devices.h"
#include "train/io/atomic_file.h"

namespace rodeo {
namespace {

using test::Ids;
using test::integer;
using test::matrix;
using test::one_hot;
using test::TempDir;

/// 502 nodes that are known, of which 2 are trained on and 500 validated on, and 2 test nodes: 503 and 502.
class DatasetsPlanetoid : public testing::Test {
 protected:
  void SetUp() override {
    const std::vector<std::int32_t> columns(502, 1);
    Ids classes(502, 0);
    classes[1] = classes[7] = 2;
    put("allx", matrix(columns, 3));
    put("ally", one_hot(classes, 3));
    put("x", matrix({0, 1}, 3));
    put("y", one_hot({0, 2}, 3));
    put("tx", matrix({0, 2}, 3));
    put("ty", one_hot({1, 2}, 3));
    put("test.index", "503\n502\n");
    put("graph",
        str("}(", integer(0), "](", integer(1), integer(503), "e", integer(1), "](", integer(0), "eu."));
  }
  void put(const char* part, const std::string& bytes) { write_file(path(part), bytes); }
  std::string path(const char* part) const { return dir_ / str("ind.tiny.", part); }
  std::string folder() const { return dir_ / ""; }
  std::string error() const {
    return test::error_of([&] { read_planetoid(folder()); });
  }
  TempDir dir_;
};

TEST_F(DatasetsPlanetoid, ASmallOneIsRead) {
  const Dataset d = read_planetoid(folder());
  EXPECT_EQ(d.num_nodes, 504);
  EXPECT_EQ(d.num_classes, 3);
  EXPECT_EQ(d.num_features, 3);
  const Ids label = d.y.to_vector<std::int64_t>();
  EXPECT_EQ((Ids{label[0], label[1], label[7], label[502], label[503]}), (Ids{0, 2, 2, 2, 1}));
  EXPECT_EQ(d.split.train.to_vector<std::int64_t>(), (Ids{0, 1}));
  EXPECT_EQ(d.split.val.numel(), 500);
  EXPECT_EQ(d.split.test.to_vector<std::int64_t>(), (Ids{502, 503}));
  EXPECT_EQ(d.num_edges(), 4);
}

TEST(DatasetsPickle, ArraysOfBothByteOrders) {
  const auto read = [](const std::string& pickle) {
    const PickleFile file = parse_pickle(pickle + ".", "p");
    return pickled_array(file.root, "p").to(DType::kF64).to_vector<double>();
  };
  for (const bool big_endian : {false, true}) {
    EXPECT_EQ(read(test::array<float>({1, -2.5F}, {2}, "f4", big_endian)), (std::vector<double>{1, -2.5}));
    EXPECT_EQ(read(test::array<double>({0.5}, {1}, "f8", big_endian)), (std::vector<double>{0.5}));
    EXPECT_EQ(read(test::array<std::int32_t>({1, -3}, {2}, "i4", big_endian)), (std::vector<double>{1, -3}));
    EXPECT_EQ(read(test::array<std::int64_t>({258}, {1}, "i8", big_endian)), (std::vector<double>{258}));
  }
}

TEST_F(DatasetsPlanetoid, FilesThatContradictAreNamed) {
  const std::string inconsistent = folder() + ": the files of tiny are inconsistent";
  const auto expect = [&](const char* part, const std::string& bytes, const std::string& message) {
    SCOPED_TRACE(part);
    SetUp();
    put(part, bytes);
    EXPECT_EQ(error(), message);
  };
  expect("ty", one_hot({1, 2}, 4), inconsistent);
  expect("y", one_hot({0, 1}, 2), inconsistent);
  expect("ty", one_hot({1}, 3), inconsistent);
  expect("tx", matrix({0, 2}, 4), inconsistent);
  expect("y", one_hot({0, 1, 1}, 3), inconsistent);  // 3 to train on and 500 to validate on are more than 502
  expect("test.index", "503\n", inconsistent);
  expect("test.index", "503\n501\n", path("test.index") + ": line 2: node 501 is already in allx");
  expect("test.index", "503\n503\n", path("test.index") + ": line 2: node 503 is a duplicate");
  expect("test.index", "503\n5000\n", path("test.index") + ": names node 5000 of 504");
  expect("test.index", "503\n9223372036854775807\n",
         path("test.index") + ": names node 9223372036854775807 of 504");
  expect("tx", matrix({0, 3}, 3), path("tx") + ": the matrix has entries outside of its shape");
  std::string infinite = matrix({0, 2}, 3);
  const float one = 1, infinity = std::numeric_limits<float>::infinity();
  infinite.replace(infinite.rfind(std::string(reinterpret_cast<const char*>(&one), 4)), 4,
                   std::string(reinterpret_cast<const char*>(&infinity), 4));
  expect("tx", infinite, path("tx") + ": the matrix has values that are not finite in f32");
  expect("tx", matrix({0, -1}, 3), path("tx") + ": the matrix has entries outside of its shape");
  for (const std::int64_t bad : {std::int64_t{504}, std::int64_t{-1}}) {
    expect("graph", str("}(", integer(0), "](", integer(bad), "eu."),
           path("graph") + ": has nodes outside [0, 504)");
    expect("graph", str("}(", integer(bad), "](", integer(0), "eu."),
           path("graph") + ": has nodes outside [0, 504)");
  }
}

}  // namespace
}  // namespace rodeo
