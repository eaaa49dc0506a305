/// The published graphs, if the shared data folder exists.
#include "datasets/dataset.h"

#include <gtest/gtest.h>

#include "tests/support/cases.h"
#include "tests/support/devices.h"

namespace rodeo {
namespace {

struct RealFile {
  const char* name;
  std::int64_t nodes, edges, features, classes, train, val, test;
};

TEST(DatasetsRealFiles, AreWhatTheirTableSays) {
  const RealFile files[] = {
      {"cora", 2708, 10556, 1433, 7, 140, 500, 1000},
      {"citeseer", 3327, 9104, 3703, 6, 120, 500, 1000},
      {"pubmed", 19717, 88648, 500, 3, 60, 500, 1000},
      {"amazon_computers", 13752, 491722, 767, 10, 0, 0, 0},
      {"coauthor_cs", 18333, 163788, 6805, 15, 0, 0, 0},
      {"tolokers", 11758, 1038000, 10, 2, 0, 0, 0},
      {"minesweeper", 10000, 78804, 7, 2, 0, 0, 0},
      {"chameleon", 2277, 62742, 2325, 5, 0, 0, 0},
      {"flickr", 7575, 479476, 12047, 9, 0, 0, 0},
      {"karate", 34, 156, 34, 4, 0, 0, 0},
  };
  int found = 0;
  for (const RealFile& file : files) {
    const std::string path = test::shared_data(str(file.name, ".h5"));
    if (path.empty()) continue;
    ++found;
    const Dataset d = load_dataset(path, {.need = Need::kTraining});
    EXPECT_EQ(d.name, file.name);
    EXPECT_EQ(d.num_nodes, file.nodes) << file.name;
    EXPECT_EQ(d.num_edges(), file.edges) << file.name;
    EXPECT_EQ(d.x.shape(), (Shape{file.nodes, file.features})) << file.name;
    EXPECT_EQ(d.num_classes, file.classes) << file.name;
    const auto& [train, val, test] = d.split;
    if (file.train > 0) {
      EXPECT_EQ(train.numel(), file.train) << file.name;
      EXPECT_EQ(val.numel(), file.val) << file.name;
      EXPECT_EQ(test.numel(), file.test) << file.name;
    } else {
      EXPECT_GT(train.numel(), 0.45 * static_cast<double>(file.nodes)) << file.name;
      EXPECT_LE(train.numel() + val.numel() + test.numel(), file.nodes) << file.name;
    }
    // The graphs are symmetric without duplicates: symmetrising does not change the number of edges.
    EXPECT_EQ(to_graph(d, kCpu, {.symmetrize = true, .self_loops = SelfLoops::kDrop}).adj.num_edges(),
              file.edges);
  }
  if (found == 0) GTEST_SKIP() << "no shared data folder: set RODEO_SHARED_DATA";
}

TEST(DatasetsRealFiles, BareTopologies) {
  const std::pair<const char*, std::pair<std::int64_t, std::int64_t>> files[] = {
      {"ca-CondMat", {23133, 186878}},        {"email-Enron", {36692, 367662}},
      {"p2p-Gnutella31", {62586, 295784}},    {"soc-Epinions1", {75877, 811478}},
      {"soc-Slashdot0902", {82168, 1008460}},
  };
  int found = 0;
  for (const auto& [name, size] : files) {
    const std::string path = test::shared_data(str("topology/", name, ".h5"));
    if (path.empty()) continue;
    ++found;
    const Dataset d = load_dataset(path);
    EXPECT_EQ(d.num_nodes, size.first) << name;
    EXPECT_EQ(d.num_edges(), size.second) << name;
    EXPECT_ERROR(load_dataset(path, {.need = Need::kTraining}),
                 path + ": /x is missing: training needs features [nodes, features]");
  }
  if (found == 0) GTEST_SKIP() << "no shared data folder: set RODEO_SHARED_DATA";
}

}  // namespace
}  // namespace rodeo
