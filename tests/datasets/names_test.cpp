// Names of classes and nodes, and features that are no floats.
#include <gtest/gtest.h>

#include "datasets/subset.h"
#include "tests/datasets/parts.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo {
namespace {

using namespace test;
using Names = std::vector<std::string>;

class DatasetsNumbersTo : public test::OnDevice {};
RODEO_ON_ALL_DEVICES(DatasetsNumbersTo);

TEST_P(DatasetsNumbersTo, IntegersAndBoolsAreFeaturesAndWeights) {
  Parts parts;
  const Tensor x = parts.x;
  for (const DType dtype : {DType::kU8, DType::kI32, DType::kI64, DType::kF64}) {
    parts.x = x.to(dtype);
    parts.edge_weight = ids({1, 2, 3, 4, 5}).to(dtype);
    const Dataset d = load(parts, {.need = Need::kTraining, .device = device()});
    EXPECT_TRUE(same_bits(d.x.to(kCpu), x)) << dtype;
    EXPECT_EQ(d.edge_weight.to(kCpu).to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5})) << dtype;
  }
  parts.edge_weight = {};
  // The largest integer that f32 holds with all below it is 2^24; others are rounded.
  parts.x = Tensor::from<std::int64_t>({16777216, 16777217, -16777217, 33554435, 0, 1}, {6, 1});
  EXPECT_EQ(load(parts, {.device = device()}).x.to(kCpu).to_vector<float>(),
            (std::vector<float>{16777216, 16777216, -16777216, 33554436, 0, 1}));
}

TEST(DatasetsNumbers, SparseFeaturesOfIntegers) {
  const TempDir dir;
  Hdf5Writer file(dir / "a.h5");
  file.write("edge_index", Parts().edge_index);
  file.write("x_indptr", ids({0, 1, 1, 2, 2, 2, 2}));
  file.write("x_indices", ids({0, 1}));
  file.write("x_data", ids({3, -4}));
  file.commit();
  EXPECT_EQ(load_dataset(dir / "a.h5").x_sparse.data.to_vector<float>(), (std::vector<float>{3, -4}));
}

Dataset named() {
  Dataset d;
  d.num_nodes = 3;
  d.num_classes = 2;
  d.src = d.dst = ids({0, 1, 2}).to(DType::kI32);
  d.y = ids({0, 1, 1});
  d.class_names = {"cats, big", ""};
  d.node_names = {"a", "b\tc", "\xc3\xa9"};
  return d;
}

TEST(DatasetsNames, AreWrittenAndReadAndFollowTheirNodes) {
  const TempDir dir;
  const Dataset d = named();
  save_dataset(d, dir / "a.h5");
  EXPECT_EQ(validate_dataset(dir / "a.h5"), Names{});
  const Dataset got = load_dataset(dir / "a.h5");
  EXPECT_EQ(got.class_names, d.class_names);
  EXPECT_EQ(got.node_names, d.node_names);
  const Dataset part = select_nodes(got, ids({2, 0}));
  EXPECT_EQ(part.class_names, d.class_names);
  EXPECT_EQ(part.node_names, (Names{"\xc3\xa9", "a"}));
  Dataset one = select_nodes(got, ids({1}));
  one.node_names = {""};
  save_dataset(one, dir / "one.h5");
  EXPECT_EQ(load_dataset(dir / "one.h5").node_names, Names{""});
}

TEST(DatasetsNames, OfAnotherNumberAreRefused) {
  const TempDir dir;
  Dataset d = named();
  d.class_names.emplace_back("third");
  EXPECT_ERROR(save_dataset(d, dir / "a.h5"), "[save_dataset] class_names must have 2 names, got 3");
  d = named();
  d.node_names[1] = "two\nlines";
  EXPECT_ERROR(save_dataset(d, dir / "a.h5"),
               "[save_dataset] node_names: 'two\\nlines' has a line break or a zero byte");
  const auto write = [&](const std::string& classes, const Tensor& nodes) {
    Hdf5Writer file(dir / "a.h5");
    file.write("edge_index", Parts().edge_index);
    file.write("y", Parts().y);
    file.write("node_names", nodes);
    file.attribute("class_names", classes);
    file.commit();
  };
  write("a\nb", flags({'a', '\n', 'b'}));
  EXPECT_EQ(validate_dataset(dir / "a.h5"),
            (Names{dir / "a.h5: attribute class_names must have a line for each of 3 classes, got 2",
                   dir / "a.h5: /node_names must have a line for each of 6 nodes, got 2"}));
  write("a\nb\nc\n", flags({'a', '\n', 'b', '\n', '\n', '\n', 'e', '\n', 'f', '\n'}));
  EXPECT_EQ(validate_dataset(dir / "a.h5"), Names{});  // a line feed after the last name is no name
  EXPECT_EQ(load_dataset(dir / "a.h5").node_names, (Names{"a", "b", "", "", "e", "f"}));
  write("a\nb\nc", ids({'a'}));
  EXPECT_ERROR(load_dataset(dir / "a.h5"), dir / "a.h5: /node_names must be u8 [bytes], got i64");
}

}  // namespace
}  // namespace rodeo
