#include "datasets/edge_split.h"

#include <gtest/gtest.h>

#include <set>

#include "datasets/commands/command_line.h"
#include "datasets/hdf5_writer.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"

namespace rodeo {
namespace {

using Pair = std::pair<std::int64_t, std::int64_t>;

std::set<Pair> set_of(const Tensor& src, const Tensor& dst) {
  std::set<Pair> out;
  const auto s = src.to(DType::kI64).to_vector<std::int64_t>(),
             d = dst.to(DType::kI64).to_vector<std::int64_t>();
  for (std::size_t i = 0; i < s.size(); ++i) out.emplace(s[i], d[i]);
  return out;
}

std::set<Pair> both_ways(const std::set<Pair>& edges) {
  std::set<Pair> out = edges;
  for (const auto& [u, v] : edges) out.emplace(v, u);
  return out;
}

TEST(DatasetsEdgeSplit, PartsAreDisjointAndMessagesUseTrainingEdges) {
  Dataset data = test::tiny_dataset(200);
  const std::set<Pair> before = set_of(data.src, data.dst);
  const EdgeSplit split = take_edge_split(data, {}, {.seed = 3});
  EXPECT_TRUE(split.undirected);
  const std::set<Pair> train = set_of(split.train.src, split.train.dst),
                       val = set_of(split.val.src, split.val.dst),
                       test = set_of(split.test.src, split.test.dst);
  EXPECT_EQ(train.size(), 340u);  // 85 %, 5 %, 10 % of 400
  EXPECT_EQ(val.size(), 20u);
  EXPECT_EQ(test.size(), 40u);
  EXPECT_EQ(set_of(data.src, data.dst), both_ways(train));
  std::set<Pair> all = both_ways(train);
  all.merge(both_ways(val));
  all.merge(both_ways(test));
  EXPECT_EQ(all, before);
  std::int64_t turned = 0;
  for (const auto& [u, v] : train) turned += u > v;
  EXPECT_EQ(turned, 168);  // about half; the contract: the same on every machine
  for (const NodePairs& negative : {split.val_negative, split.test_negative})
    for (const Pair& pair : set_of(negative.src, negative.dst)) EXPECT_FALSE(before.contains(pair));
  // Draws of one random stream would begin alike.
  EXPECT_FALSE(test::same_bits(split.test_negative.src.slice(0, 20), split.val_negative.src));

  Dataset again = test::tiny_dataset(200), other = test::tiny_dataset(200);
  const EdgeSplit same = take_edge_split(again, {}, {.seed = 3});
  EXPECT_TRUE(test::same_bits(same.test.src, split.test.src));
  EXPECT_TRUE(test::same_bits(same.test_negative.dst, split.test_negative.dst));
  const EdgeSplit of_4 = take_edge_split(other, {}, {.seed = 4});
  EXPECT_FALSE(test::same_bits(of_4.test.src, split.test.src));
  EXPECT_FALSE(test::same_bits(of_4.val_negative.src, split.val_negative.src));
  EXPECT_FALSE(test::same_bits(of_4.test_negative.src, split.test_negative.src));
}

TEST(DatasetsEdgeSplit, LoopsOfAnUndirectedGraphArePredictedNowhere) {
  Dataset data = test::tiny_dataset(200);
  std::vector<std::int64_t> src = data.src.to(DType::kI64).to_vector<std::int64_t>(),
                            dst = data.dst.to(DType::kI64).to_vector<std::int64_t>();
  for (std::int64_t node = 0; node < 200; ++node) src.push_back(node), dst.push_back(node);
  data.src = Tensor::from(src), data.dst = Tensor::from(dst);
  const EdgeSplit split = take_edge_split(data, {}, {.seed = 3});
  EXPECT_TRUE(split.undirected);
  EXPECT_EQ(split.train.src.numel() + split.val.src.numel() + split.test.src.numel(), 400);
  for (const NodePairs& part : {split.train, split.val, split.test})
    for (const auto& [u, v] : set_of(part.src, part.dst)) EXPECT_NE(u, v);
}

// The seed draws negatives also where the file names the edges, and turns the undirected ones.
TEST(DatasetsEdgeSplit, NegativesOfAFilesSplitFollowTheSeed) {
  Dataset data = test::tiny_dataset(200);
  const EdgeSplit any = take_edge_split(data, {}, {.seed = 9});
  EdgeSplit named;
  named.val = any.val, named.test = any.test;
  const auto take = [&](std::uint64_t seed) {
    Dataset of_seed = test::tiny_dataset(200);
    return take_edge_split(of_seed, named, {.seed = seed});
  };
  const EdgeSplit one = take(1), two = take(2);
  EXPECT_EQ(both_ways(set_of(one.val.src, one.val.dst)), both_ways(set_of(two.val.src, two.val.dst)));
  EXPECT_EQ(both_ways(set_of(one.test.src, one.test.dst)), both_ways(set_of(two.test.src, two.test.dst)));
  EXPECT_FALSE(test::same_bits(one.val.src, two.val.src));
  EXPECT_FALSE(test::same_bits(one.val_negative.src, two.val_negative.src));
  EXPECT_FALSE(test::same_bits(one.test_negative.src, two.test_negative.src));
  EXPECT_FALSE(test::same_bits(one.test_negative.src, one.val_negative.src));
}

TEST(DatasetsEdgeSplit, DirectedEdgesKeepTheirDirectionAndWeights) {
  Dataset data;
  data.num_nodes = 5;
  data.src = Tensor::from<std::int64_t>({0, 1, 2, 3, 3, 0});
  data.dst = Tensor::from<std::int64_t>({1, 2, 3, 4, 3, 1});  // with a self loop and a duplicate
  data.edge_weight = Tensor::from<float>({1, 2, 3, 4, 5, 6});
  const EdgeSplit split = take_edge_split(data, {}, {.parts = "50/25/25"});
  EXPECT_FALSE(split.undirected);
  EXPECT_EQ(split.train.src.numel(), 2);
  EXPECT_EQ(set_of(data.src, data.dst), set_of(split.train.src, split.train.dst));
  for (std::int64_t e = 0; e < 2; ++e)
    EXPECT_EQ(data.edge_weight.data<float>()[e], static_cast<float>(data.src.data<std::int32_t>()[e] + 1));
}

TEST(DatasetsEdgeSplit, CommandsThatWouldLoseIt) {
  using Ids = std::vector<std::int64_t>;
  const test::TempDir dir;
  const std::string path = dir / "g.h5", out = dir / "out.h5";
  Hdf5Writer file(path);
  file.write("edge_index", Tensor::from(Ids{0, 1, 1, 2, 2, 3, 1, 0, 2, 1, 3, 2}, {2, 6}));
  file.write("val_edges", Tensor::from(Ids{0, 1}, {2, 1}));
  file.write("test_edges", Tensor::from(Ids{1, 2}, {2, 1}));
  file.commit();
  const std::string has = path + ": has a split of the edges, /val_edges and /test_edges, which ";
  const char* const reorder[] = {"reorder", "--by", "degree", path.c_str(), out.c_str()};
  EXPECT_ERROR(reorder_command(5, reorder), has + "reorder does not keep: --reorder of training keeps it");
  const char* const subset[] = {"subset", "--first", "2", path.c_str(), out.c_str()};
  EXPECT_ERROR(subset_command(5, subset), has + "subset does not keep: leave it out first");
}

TEST(DatasetsEdgeSplit, SplitOfTheFile) {
  const test::TempDir dir;
  const std::string path = dir / "g.h5";
  const auto write = [&](const std::vector<std::int64_t>& val, const std::vector<std::int64_t>& test,
                         const std::vector<std::int64_t>& negative = {},
                         const std::vector<std::int64_t>& val_negative = {}) {
    Hdf5Writer file(path);
    const auto pairs = [](const std::vector<std::int64_t>& ids) {
      return Tensor::from(ids, {2, static_cast<std::int64_t>(ids.size()) / 2});
    };
    file.write("edge_index", pairs({0, 1, 1, 2, 2, 3, 3, 0, 1, 0, 2, 1, 3, 2, 0, 3}));
    if (!val.empty()) file.write("val_edges", pairs(val));
    if (!test.empty()) file.write("test_edges", pairs(test));
    if (!negative.empty()) file.write("test_negative_edges", pairs(negative));
    if (!val_negative.empty()) file.write("val_negative_edges", pairs(val_negative));
    file.commit();
  };
  const auto take = [&] {
    Dataset data = load_dataset(path);
    return take_edge_split(data, load_edge_split(path, data.num_nodes), {});
  };
  write({1, 0}, {2, 1}, {0, 2, 2, 0}, {1, 3});
  const EdgeSplit split = take();
  EXPECT_EQ(both_ways(set_of(split.val.src, split.val.dst)), (std::set<Pair>{{0, 1}, {1, 0}}));
  EXPECT_EQ(both_ways(set_of(split.test.src, split.test.dst)), (std::set<Pair>{{2, 1}, {1, 2}}));
  EXPECT_EQ(set_of(split.test_negative.src, split.test_negative.dst), (std::set<Pair>{{0, 2}, {2, 0}}));
  EXPECT_EQ(set_of(split.val_negative.src, split.val_negative.dst), (std::set<Pair>{{1, 3}}));
  EXPECT_EQ(split.train.src.numel(), 2);

  const std::string where = path + ": ";
  write({1, 3}, {2, 1});
  EXPECT_ERROR(
      take(),
      "split: the validation edge (1, 3) is no edge of the graph, which must have those of all parts");
  write({1, 0}, {0, 1});  // one edge in both, as in ogbl-collab
  const EdgeSplit both = take();
  EXPECT_EQ(both_ways(set_of(both.val.src, both.val.dst)), both_ways(set_of(both.test.src, both.test.dst)));
  EXPECT_EQ((std::array{both.val.src.numel(), both.test.src.numel(), both.train.src.numel(), both.in_both}),
            (std::array<std::int64_t, 4>{1, 1, 3, 1}));
  EXPECT_EQ(split.in_both, 0);
  const auto sizes = [&] {
    const EdgeSplitSizes of = edge_split_sizes(path, load_dataset(path));
    return std::array{of.train, of.val, of.test, of.in_both};
  };
  using Sizes = std::array<std::int64_t, 4>;
  EXPECT_EQ(sizes(), (Sizes{3, 1, 1, 1}));
  write({1, 0, 0, 1}, {2, 1});  // an edge in both directions counts once
  EXPECT_EQ(sizes(), (Sizes{2, 1, 1, 0}));
  write({}, {});
  EXPECT_EQ(sizes(), (Sizes{0, 0, 0, 0}));
  write({1, 9}, {2, 1});
  EXPECT_ERROR(sizes(), where + "/val_edges[1, 0] is 9, outside [0, 4)");
  EXPECT_ERROR(take(), where + "/val_edges[1, 0] is 9, outside [0, 4)");
  EXPECT_EQ(validate_dataset(path), std::vector{where + "/val_edges[1, 0] is 9, outside [0, 4)"});
  write({1, 0}, {});
  EXPECT_ERROR(take(), where + "has only one of /val_edges and /test_edges: a split of the edges needs both");

  write({}, {}, {1, 3});
  EXPECT_ERROR(
      take(),
      where + "/test_negative_edges needs /val_edges and /test_edges: give them, too, or leave it out");

  write({1, 0}, {2, 1}, {0, 3, 2, 0});
  EXPECT_ERROR(take(), "split: the test negative (3, 0) is an edge of the graph: name another pair");
}

TEST(DatasetsEdgeSplit, SharedEdgesAreCounted) {
  EXPECT_EQ(shared_edges_text(0, 9), "");
  EXPECT_EQ(shared_edges_text(1, 9),
            "1 of 9 validation edges is a test edge, too: both parts are scored on it");
  EXPECT_EQ(shared_edges_text(2, 9),
            "2 of 9 validation edges are test edges, too: both parts are scored on them");
}

TEST(DatasetsEdgeSplit, NegativesOfEachEdge) {
  const test::TempDir dir;
  const std::string path = dir / "g.h5", where = path + ": /val_negative_targets";
  using Ids = std::vector<std::int64_t>;
  const auto load = [&](const Ids& targets, Shape shape, bool pairs = false, bool symmetrize = false) {
    Hdf5Writer file(path);
    file.write("edge_index", Tensor::from(Ids{3, 0, 4, 1, 2, 1, 2, 3, 2, 3}, {2, 5}));
    file.write("val_edges", Tensor::from(Ids{3, 0, 1, 2}, {2, 2}));  // not in ascending order
    file.write("test_edges", Tensor::from(Ids{4, 3}, {2, 1}));
    file.write("val_negative_targets", Tensor::from(targets, shape));
    if (pairs) file.write("val_negative_edges", Tensor::from(Ids{4, 0}, {2, 1}));
    file.commit();
    Dataset data = load_dataset(path);
    return take_edge_split(data, load_edge_split(path, data.num_nodes), {.symmetrize = symmetrize});
  };
  const EdgeSplit split = load({0, 2, 4, 3, 4, 4}, {2, 3});
  EXPECT_TRUE(split.val_by_edge);
  EXPECT_FALSE(split.test_by_edge);
  EXPECT_EQ(split.val.src.to_vector<std::int64_t>(), (Ids{3, 0}));
  EXPECT_EQ(split.val_negative.src.to_vector<std::int64_t>(), (Ids{3, 3, 3, 0, 0, 0}));
  EXPECT_EQ(split.val_negative.dst.to_vector<std::int64_t>(), (Ids{0, 2, 4, 3, 4, 4}));
  EXPECT_EQ(split.test_negative.src.numel(), 1);
  // (3, 2) is the reverse of an edge, and no edge of the file.
  EXPECT_EQ(load({2, 4}, {2, 1}, false, true).val_negative.dst.to_vector<std::int64_t>(), (Ids{2, 4}));
  EXPECT_ERROR(load({1, 4}, {2, 1}, false, true),
               "split: the validation negative (3, 1) is an edge of the graph: name another pair");
  EXPECT_ERROR(
      load({0, 2, 4}, {1, 3}),
      where + " must be integer [edges, negatives] with a row for each of the 2 edges, got i64 [1, 3]");
  EXPECT_ERROR(load({0, 5}, {2, 1}), where + "[1, 0] is 5, outside [0, 5)");
  EXPECT_ERROR(load({1, 4}, {2, 1}),
               "split: the validation negative (3, 1) is an edge of the graph: name another pair");
  EXPECT_ERROR(load({0, 4}, {2, 1}, true),
               where + ": the file has these negatives as edges, too: leave one of the arrays out");
}

TEST(DatasetsEdgeSplit, ValidateReportsWhatContradictsTheGraph) {
  const test::TempDir dir;
  const std::string path = dir / "g.h5", where = path + ": ";
  using Ids = std::vector<std::int64_t>;
  std::vector<std::string> warnings;
  const auto findings = [&](const Ids& val, const Ids& test, const Ids& val_negative,
                            const Ids& test_negative) {
    Hdf5Writer file(path);
    const auto write = [&](const char* name, const Ids& ids) {
      file.write(name, Tensor::from(ids, {2, static_cast<std::int64_t>(ids.size()) / 2}));
    };
    write("edge_index", {0, 1, 1, 2, 2, 3, 3, 0, 1, 0, 2, 1, 3, 2, 0, 3});  // a ring of 4, both ways
    write("val_edges", val), write("test_edges", test);
    write("val_negative_edges", val_negative), write("test_negative_edges", test_negative);
    file.attribute("num_nodes", std::int64_t{2147483647});  // takes no memory for each node
    file.commit();
    warnings.clear();
    return validate_dataset(path, &warnings);
  };
  EXPECT_EQ(findings({0, 1}, {3, 2}, {0, 2}, {1, 3}), (std::vector<std::string>{}));
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(
      findings({0, 2}, {1, 3}, {1, 0}, {2, 3}),
      (std::vector{
          where + "the validation edge (0, 2) is no edge of the graph, which must have those of all parts",
          where + "the test edge (1, 3) is no edge of the graph, which must have those of all parts",
          where + "the validation negative (1, 0) is an edge of the graph: name another pair",
          where + "the test negative (2, 3) is an edge of the graph: name another pair"}));
  EXPECT_EQ(findings({0, 1}, {1, 0}, {0, 2}, {1, 3}), (std::vector<std::string>{}));
  EXPECT_EQ(warnings, std::vector{shared_edges_text(1, 1)});
  EXPECT_EQ(findings({0, 1, 2, 1, 2, 3}, {3, 0}, {0, 2}, {1, 3}),
            (std::vector{where + "no training edges of 4: name fewer in /val_edges and /test_edges"}));
  EXPECT_EQ(findings({0, 1}, {1, 1}, {0, 2}, {1, 3}),
            (std::vector{where + "the test edge (1, 1) is a self loop: leave it out"}));
  EXPECT_EQ(findings({}, {0, 1}, {0, 2}, {1, 3}),
            (std::vector{where + "/val_edges has no pair: name some, or leave the array out"}));
  EXPECT_EQ(findings({0, 1}, {3, 2}, {0, 2}, {}),
            (std::vector{where + "/test_negative_edges has no pair: name some, or leave the array out"}));
}

TEST(DatasetsEdgeSplit, Errors) {
  Dataset data;
  data.num_nodes = 3;
  data.src = Tensor::from<std::int64_t>({0, 1});
  data.dst = Tensor::from<std::int64_t>({1, 2});
  EXPECT_ERROR(take_edge_split(data, {}, {}), "split: link prediction needs at least 3 edges, got 2");
  Dataset more = test::tiny_dataset(40);
  EXPECT_ERROR(take_edge_split(more, {}, {.parts = "100/0/0"}),
               "split: no validation edges of 80: give other shares");
}

}  // namespace
}  // namespace rodeo
