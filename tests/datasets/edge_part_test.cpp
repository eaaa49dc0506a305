// Parts of the edges of a file: a rank reads its own.
#include "datasets/edge_part.h"

#include <gtest/gtest.h>

#include "datasets/hdf5_writer.h"
#include "tests/datasets/parts.h"
#include "tests/support/devices.h"
#include "tests/support/temp_dir.h"

namespace rodeo {
namespace {

using test::Ids;
using test::wide;

struct DatasetsEdgePart : testing::Test {
  /// Three nodes and five edges as a CSR.
  void write(const Ids& indptr, const Ids& indices = {0, 2, 1, 0, 2},
             const std::vector<float>& weight = {1, 2, 3, 4, 5}) const {
    Hdf5Writer file(path);
    file.write("indptr", Tensor::from(indptr));
    file.write("indices", Tensor::from(indices));
    file.write("edge_weight", Tensor::from(weight));
    file.commit();
  }
  test::TempDir dir;
  const std::string path = dir / "g.h5";
};

TEST_F(DatasetsEdgePart, BeginsAreSpreadOverTheParts) {
  Ids begins;
  for (int part = 0; part <= 3; ++part) begins.push_back(edge_part_begin(8, part, 3));
  EXPECT_EQ(begins, (Ids{0, 2, 5, 8}));
  EXPECT_EQ(edge_part_begin(1, 1, 4), 0);
  EXPECT_EQ(edge_part_begin(1, 4, 4), 1);
}

TEST_F(DatasetsEdgePart, PartsOfACsrAreTheWhole) {
  write({0, 2, 2, 5});
  for (const int parts : {1, 2, 3, 4, 7}) {
    Ids src, dst;
    std::vector<float> weight;
    for (int part = 0; part < parts; ++part) {
      const EdgePart own = load_edge_part(path, 3, part, parts);
      const Ids of_src = wide(own.src), of_dst = wide(own.dst);
      const std::vector<float> of_weight = own.weight.to_vector<float>();
      src.insert(src.end(), of_src.begin(), of_src.end());
      dst.insert(dst.end(), of_dst.begin(), of_dst.end());
      weight.insert(weight.end(), of_weight.begin(), of_weight.end());
    }
    EXPECT_EQ(src, (Ids{0, 2, 1, 0, 2})) << parts;
    EXPECT_EQ(dst, (Ids{0, 0, 2, 2, 2})) << parts;
    EXPECT_EQ(weight, (std::vector<float>{1, 2, 3, 4, 5})) << parts;
  }
}

TEST_F(DatasetsEdgePart, RowPointersAreChecked) {
  const auto load = [&](const Ids& indptr) {
    write(indptr);
    return load_edge_part(path, 3, 0, 2);
  };
  const std::string where = path + ": /indptr ";
  EXPECT_ERROR(load({1, 2, 2, 5}), where + "must start at 0, got 1");
  EXPECT_ERROR(load({0, 3, 2, 5}), where + "must not decrease, but [2] is 2 after 3");
  EXPECT_ERROR(load({0, 2, 2, 4}), where + "must end at the length of /indices, 5, got 4 at [3]");
  EXPECT_ERROR(load({0, 2, 6, 6}), where + "must end at the length of /indices, 5, got 6 at [2]");
  EXPECT_ERROR(load({0, 2, 5}), where + "implies 2 nodes, and there are 3");
}

TEST_F(DatasetsEdgePart, EntriesOfThePartAreChecked) {
  write({0, 2, 2, 5}, {0, 2, 1, 0, 3}, {1, 2, 3, HUGE_VALF, 5});
  EXPECT_EQ(wide(load_edge_part(path, 3, 0, 2).src), (Ids{0, 2}));
  EXPECT_ERROR(load_edge_part(path, 3, 1, 2), path + ": /indices[4] is 3, outside [0, 3)");
  EXPECT_ERROR(load_edge_part(path, 4, 0, 2), path + ": /indptr implies 3 nodes, and there are 4");
  write({0, 2, 2, 5}, {0, 2, 1, 0, 2}, {1, 2, 3, HUGE_VALF, 5});
  EXPECT_ERROR(load_edge_part(path, 3, 1, 2), path + ": /edge_weight[3] is not a finite float");
  EXPECT_ERROR(load_edge_part(path, 3, 2, 2), "[load_edge_part] part must be in [0, 2), got 2");
}

}  // namespace
}  // namespace rodeo
