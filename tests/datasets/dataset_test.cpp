#include "datasets/dataset.h"

#include <gtest/gtest.h>

#include "tests/datasets/parts.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo {
namespace {

using test::Ids;
using test::load;
using test::Parts;
using test::same_bits;
using test::TempDir;

void expect_equal(const Dataset& a, const Dataset& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.num_nodes, b.num_nodes);
  EXPECT_EQ(a.num_features, b.num_features);
  EXPECT_EQ(a.num_classes, b.num_classes);
  for (const auto& [member, what] :
       std::vector<std::pair<Tensor Dataset::*, const char*>>{{&Dataset::src, "src"},
                                                              {&Dataset::dst, "dst"},
                                                              {&Dataset::indptr, "indptr"},
                                                              {&Dataset::indices, "indices"},
                                                              {&Dataset::x, "x"},
                                                              {&Dataset::edge_weight, "edge_weight"},
                                                              {&Dataset::y, "y"}}) {
    ASSERT_EQ((a.*member).defined(), (b.*member).defined()) << what;
    if (!(a.*member).defined()) continue;
    EXPECT_TRUE(same_bits(a.*member, b.*member)) << what;
  }
  for (Tensor Split::*part : {&Split::train, &Split::val, &Split::test}) {
    ASSERT_EQ((a.split.*part).defined(), (b.split.*part).defined());
    if (!(a.split.*part).defined()) continue;
    EXPECT_TRUE(same_bits(a.split.*part, b.split.*part));
  }
}

TEST(DatasetsSave, ComesBackAsItWas) {
  const TempDir dir;
  Parts weighted, csr, bare;
  weighted.edge_weight = Tensor::from<float>({1, 2, 3, 4, 5});
  csr.use_csr();
  bare.use_edges_only();
  bare.num_nodes = 10;
  for (const Parts& parts : {weighted, csr, bare}) {
    const Dataset dataset = load(parts, {});
    save_dataset(dataset, dir / "saved.h5");
    expect_equal(load_dataset(dir / "saved.h5"), dataset);
  }
  EXPECT_ERROR(save_dataset({}, dir / "saved.h5"),
               dir / "saved.h5: a dataset has either an edge list or a CSR");
}

class DatasetsToGraph : public test::OnDevice {};
RODEO_ON_ALL_DEVICES(DatasetsToGraph);

std::vector<float> floats(const Tensor& t) {
  return t.to(kCpu).to_vector<float>();
}
Ids row_ptr(const Graph& g) {
  return g.adj.csr().row_ptr.to(kCpu).to_vector<std::int64_t>();
}
std::vector<std::int32_t> columns(const Graph& g) {
  return g.adj.csr().col.to(kCpu).to_vector<std::int32_t>();
}

TEST_P(DatasetsToGraph, RowsAreDestinationsAndWeightsFollow) {
  Dataset d;
  d.num_nodes = 4;
  d.src = Tensor::from<std::int32_t>({3, 0, 1, 3});
  d.dst = Tensor::from<std::int32_t>({1, 1, 0, 0});
  EXPECT_FALSE(to_graph(d, device()).weight.defined());
  d.edge_weight = Tensor::from<float>({31, 1, 10, 30});
  Graph g = to_graph(d, device());
  EXPECT_EQ(g.adj.device(), device());
  EXPECT_EQ(row_ptr(g), (Ids{0, 2, 4, 4, 4}));
  EXPECT_EQ(columns(g), (std::vector<std::int32_t>{1, 3, 0, 3}));
  EXPECT_EQ(floats(g.weight), (std::vector<float>{10, 30, 1, 31}));

  g = to_graph(d, device(), {.symmetrize = true, .self_loops = SelfLoops::kAdd});
  EXPECT_EQ(row_ptr(g), (Ids{0, 3, 6, 7, 10}));
  EXPECT_EQ(columns(g), (std::vector<std::int32_t>{0, 1, 3, 0, 1, 3, 2, 0, 1, 3}));
  // 0 -> 1 stands in the edge list and is the reverse of 1 -> 0: the one from the list is kept.
  EXPECT_EQ(floats(g.weight), (std::vector<float>{1, 10, 30, 1, 1, 31, 1, 30, 31, 1}));
}

TEST_P(DatasetsToGraph, RepeatedEdgesAndSelfLoopsAreKept) {
  Dataset d;
  d.num_nodes = 2;
  d.src = Tensor::from<std::int64_t>({0, 1, 0, 0});
  d.dst = Tensor::from<std::int64_t>({1, 1, 1, 1});
  d.edge_weight = Tensor::from<float>({1, 2, 3, 4});
  const Graph g = to_graph(d, device());
  EXPECT_EQ(row_ptr(g), (Ids{0, 0, 4}));
  EXPECT_EQ(columns(g), (std::vector<std::int32_t>{0, 0, 0, 1}));
  EXPECT_EQ(floats(g.weight), (std::vector<float>{1, 3, 4, 2}));
}

TEST_P(DatasetsToGraph, CsrAndListAreTheSameGraph) {
  Parts parts;
  parts.use_csr();
  parts.edge_weight = Tensor::from<float>({3, 1, 0, 5, 4});
  const Dataset csr = load(parts);
  Dataset list;
  list.num_nodes = 6;
  list.src = csr.indices;
  list.dst = Tensor::from<std::int32_t>({0, 0, 2, 4, 5});
  list.edge_weight = csr.edge_weight;
  const Graph a = to_graph(csr, device()), b = to_graph(list, device());
  EXPECT_EQ(row_ptr(a), (Ids{0, 2, 2, 3, 3, 4, 5}));
  EXPECT_EQ(columns(a), (std::vector<std::int32_t>{1, 3, 0, 5, 4}));  // sorted within the row
  EXPECT_EQ(floats(a.weight), (std::vector<float>{1, 3, 0, 5, 4}));
  EXPECT_EQ(row_ptr(a), row_ptr(b));
  EXPECT_EQ(columns(a), columns(b));
  EXPECT_EQ(floats(a.weight), floats(b.weight));
}

}  // namespace
}  // namespace rodeo
