// Pairs of nodes that rodeo_predict --edges scores.
#include <gtest/gtest.h>

#include "datasets/hdf5_file.h"
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
  /// The pairs that are read, each as "source target".
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

// Fields are separated by a comma or a tab where a line has one, else by blanks; they may be quoted.
TEST_F(TrainNodePairs, LinesOfAnySeparator) {
  EXPECT_EQ(read("1,2\r\n 3 , 4 \n\"0\",\"5\"\n"), "1 2, 3 4, 0 5");
  EXPECT_EQ(read("1\t2\n3 4\n"), "1 2, 3 4");
  EXPECT_EQ(read("1,2,a score\n"), "1 2") << "more fields are not read";
  EXPECT_ERROR(read("1,2\n3\n"), where + "2: expected two nodes, got '3'");
  EXPECT_ERROR(read("1,2\n3,\n"), where + "2: expected two nodes, got '3,'");
  EXPECT_ERROR(read("1,2\n1.5,2\n"), where + "2: the dataset has no node '1.5'");
  EXPECT_ERROR(read("1,2\n-1,2\n"), where + "2: the dataset has no node '-1'");
  EXPECT_ERROR(read(""), path + ": has no pair of nodes");
}

TEST_F(TrainNodePairs, NamesAndIdsOfTheFileNameNodes) {
  ScoredRelations named = shop;
  named.types[0].node_names = {"ann", "bob", "eve", "7"};
  named.types[1].node_id = Tensor::from(Ids{10, 11, 12, 13, 14, 15});
  const auto read_named = [&](const std::string& text) {
    write_file(path, text);
    return read_node_pairs(path, named);
  };
  const NodePairs pairs = read_named("bob,15\n7,10\n");
  EXPECT_EQ(pairs.src.to_vector<std::int64_t>(), (Ids{1, 3}));
  EXPECT_EQ(pairs.dst.to_vector<std::int64_t>(), (Ids{5, 0}));
  EXPECT_ERROR(read_named("bob,15\n0,10\n"), where + "2: the dataset has no node '0'");
  EXPECT_ERROR(read_named("bob,15\nbob,5\n"), where + "2: the dataset has no node '5'");

  // What is written has the same texts.
  const Tensor score = Tensor::from<float>({0, 2});
  write_link_scores(dir / "s.csv", pairs, score, named);
  EXPECT_EQ(read_file(dir / "s.csv", 1000),
            "source,destination,score,probability\nbob,15,0,0.5\n7,10,2,0.8807971\n");
  write_link_scores(dir / "s.tsv", pairs, score, named);
  EXPECT_EQ(read_file(dir / "s.tsv", 1000),
            "source\tdestination\tscore\tprobability\nbob\t15\t0\t0.5\n7\t10\t2\t0.8807971\n");
  write_link_scores(dir / "s.h5", pairs, score, named);
  const Hdf5File file(dir / "s.h5");
  EXPECT_EQ(file.array("edges").read(DType::kI64).to_vector<std::int64_t>(), (Ids{1, 3, 5, 0}));
  EXPECT_EQ(file.array("score").read(DType::kF32).to_vector<float>(), (std::vector<float>{0, 2}));
  EXPECT_EQ(file.array("probability").read(DType::kF32).to_vector<float>()[0], 0.5f);
  EXPECT_FALSE(file.has("relation"));
}

TEST_F(TrainNodePairs, RelationsAreNamedWhereThereAreSeveral) {
  ScoredRelations two = shop;
  two.relations.push_back({"likes", "item:likes:user", 1, 0, {}});
  two.relations.push_back({"likes", "user:likes:user", 0, 0, {}});
  const auto read_two = [&](const std::string& text) {
    write_file(path, text);
    const NodePairs pairs = read_node_pairs(path, two);
    write_link_scores(dir / "s.csv", pairs, Tensor::zeros({pairs.src.numel()}), two);
    return read_file(dir / "s.csv", 1000);
  };
  EXPECT_EQ(
      read_two("source,relation,target\n3,buys,5\n5,item:likes:user,3\n3,user:likes:user,0\n"),
      "source,relation,destination,score,probability\n3,user:buys:item,5,0,0.5\n5,item:likes:user,3,0,0.5\n"
      "3,user:likes:user,0,0,0.5\n");
  EXPECT_ERROR(read_two("3,buys,5\n3,likes,0\n"), where + "2: the weights have no relation 'likes'");
  EXPECT_ERROR(read_two("3,buys,5\n3,buys,6\n"), where + "2: the dataset has no node '6'");
  EXPECT_ERROR(read_two("3,buys,5\n5,buys,3\n"), where + "2: the dataset has no node '5'");
  EXPECT_ERROR(read_two("3,5\n"), where + "1: expected source, relation and target, got '3,5'");
  read_arrays({0}, {0});
  EXPECT_ERROR(
      read_node_pairs(dir / "p.h5", two),
      dir / "p.h5" +
          ": an HDF5 file names no relations, and the weights have 3: give lines of source, relation and "
          "target");
}

TEST_F(TrainNodePairs, ArraysOfAnotherForm) {
  const auto error = [&](const char* name, const Tensor& edges) {
    Hdf5Writer file(dir / "p.h5");
    file.write(name, edges);
    file.commit();
    return error_of([&] { read_node_pairs(dir / "p.h5", shop); });
  };
  const std::string file = dir / "p.h5", rule = file + ": /edges must be integer [2, pairs], got ";
  EXPECT_EQ(error("pairs", Tensor::zeros({2, 1}, DType::kI64)),
            file + ": has no array /edges, integer [2, pairs]");
  EXPECT_EQ(error("edges", Tensor::zeros({2, 1})), rule + "f32 [2, 1]");
  EXPECT_EQ(error("edges", Tensor::zeros({3, 2}, DType::kI64)), rule + "i64 [3, 2]");
  EXPECT_EQ(error("edges", Tensor::zeros({2}, DType::kI64)), rule + "i64 [2]");
  EXPECT_EQ(error("edges", Tensor::zeros({2, 0}, DType::kI64)), file + ": has no pair of nodes");
}

}  // namespace
}  // namespace rodeo::test
