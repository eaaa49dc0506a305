// Pairs of nodes that rodeo_predict --edges scores.
#include <gtest/gtest.h>

#include "datasets/hdf5_writer.h"
#include "tests/support/devices.h"
#include "tests/support/temp_dir.h"
#include "train/commands/link_prediction.h"
#include "train/io/atomic_file.h"

namespace rodeo::test {
namespace {

using Ids = std::vector<std::int64_t>;

Dataset nodes(std::int64_t count) {
  Dataset type;
  type.num_nodes = count;
  return type;
}

struct TrainNodePairs : testing::Test {
  /// As "source target" a pair.
  std::string read(const std::string& text) const {
    write_file(path, text);
    const NodePairs pairs = read_node_pairs(path, shop);
    std::string out;
    for (std::int64_t i = 0; i < pairs.src.numel(); ++i)
      out += str(out.empty() ? "" : ", ", pairs.src.data<std::int64_t>()[i], " ",
                 pairs.dst.data<std::int64_t>()[i]);
    return out;
  }
  NodePairs read_arrays(const Ids& source, const Ids& target) const {
    Hdf5Writer file(dir / "p.h5");
    file.write_rows("edges", {Tensor::from(source), Tensor::from(target)});
    file.commit();
    return read_node_pairs(dir / "p.h5", shop);
  }
  TempDir dir;
  const std::string path = dir / "p.csv", where = path + ": line ";
  const ScoredRelations shop{.types = {nodes(4), nodes(6)},
                             .relations = {{"buys", "user:buys:item", 0, 1, {}}}};
};

TEST_F(TrainNodePairs, NodesAreThoseOfTheTypes) {
  EXPECT_EQ(read("3,5\n0,0\n"), "3 5, 0 0");
  EXPECT_ERROR(read("0,0\n3,6\n"), where + "2: the dataset has no node '6'");
  EXPECT_ERROR(read("0,0\n4,5\n"), where + "2: the dataset has no node '4'");
  EXPECT_EQ(read_arrays({3, 0}, {5, 0}).dst.to_vector<std::int64_t>(), (Ids{5, 0}));
  EXPECT_ERROR(read_arrays({3, 0}, {5, 6}), dir / "p.h5" + ": /edges[1, 1] is 6, outside [0, 6)");
  EXPECT_ERROR(read_arrays({4, 0}, {5, 0}), dir / "p.h5" + ": /edges[0, 0] is 4, outside [0, 4)");
  EXPECT_ERROR(read_arrays({-1, 0}, {5, 0}), dir / "p.h5" + ": /edges[0, 0] is -1, outside [0, 4)");
}

// A header names no node. A first line with one node that there is has a slip of the pen.
TEST_F(TrainNodePairs, AHeaderIsALineOfOtherText) {
  EXPECT_EQ(read("user,item\n1,2\n"), "1 2");
  EXPECT_ERROR(read("1,x\n1,2\n"), where + "1: the dataset has no node 'x'");
  EXPECT_ERROR(read("x,1\n1,2\n"), where + "1: the dataset has no node 'x'");
  EXPECT_ERROR(read("1,2\nuser,item\n"), where + "2: the dataset has no node 'user'");
  EXPECT_EQ(read("# a comment\n1,2\n\n3 4\n"), "1 2, 3 4");
  EXPECT_ERROR(read("user,item\n"), path + ": has no pair of nodes");
}

}  // namespace
}  // namespace rodeo::test
