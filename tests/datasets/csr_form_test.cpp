/// A graph stored as CSR is the same graph as its edge list, in every respect.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/datasets/parts.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo {
namespace {

using test::Ids;
using test::Parts;
using test::same_bits;
using test::TempDir;

class DatasetsCsrForm : public test::OnDevice {};
RODEO_ON_ALL_DEVICES(DatasetsCsrForm);

struct Edges {
  const char* name;
  Ids indptr, indices;
  Ids dst() const {
    Ids out;
    for (std::size_t i = 0; i + 1 < indptr.size(); ++i)
      out.insert(out.end(), static_cast<std::size_t>(indptr[i + 1] - indptr[i]),
                 static_cast<std::int64_t>(i));
    return out;
  }
};

std::vector<Edges> cases() {
  std::vector<Edges> all{
      {"no edges", {0, 0, 0, 0, 0, 0, 0}, {}},
      {"sorted, with empty rows", {0, 0, 2, 2, 5, 6, 6}, {0, 5, 1, 3, 4, 2}},
      {"unsorted", {0, 2, 2, 3, 3, 4, 5}, {3, 1, 0, 5, 4}},
      {"sorted, with duplicates", {0, 3, 3, 4, 4, 6, 6}, {1, 1, 3, 0, 5, 5}},
      {"unsorted, with duplicates and loops", {0, 4, 4, 5, 5, 7, 7}, {1, 0, 1, 0, 2, 5, 3}},
      {"symmetric", {0, 2, 3, 4, 4, 5, 6}, {1, 2, 0, 0, 5, 4}},
      {"symmetric, with duplicates", {0, 2, 4, 4, 4, 4, 4}, {1, 1, 0, 0}},
  };
  Edges large{"larger than a block of a kernel", {0}, {}};
  for (std::int64_t i = 0; i < 6; ++i) {
    for (std::int64_t k = 0; k < 3000 * i; ++k) large.indices.push_back((k * k + i) % 6);
    large.indptr.push_back(static_cast<std::int64_t>(large.indices.size()));
  }
  all.push_back(large);
  return all;
}

void expect_equal(const Tensor& a, const Tensor& b, const char* what) {
  ASSERT_EQ(a.defined(), b.defined()) << what;
  if (!a.defined()) return;
  EXPECT_TRUE(same_bits(a, b)) << what;
}

void expect_same_graph(const Dataset& csr, const Dataset& list, Device device) {
  for (const bool symmetrize : {false, true})
    for (const bool drop : {false, true})
      for (const SelfLoops loops : {SelfLoops::kKeep, SelfLoops::kDrop, SelfLoops::kAdd}) {
        const CooOptions options{symmetrize, drop, loops, /*edge_ids=*/false};
        const Graph a = to_graph(csr, device, options), b = to_graph(list, device, options);
        expect_equal(a.adj.csr().row_ptr, b.adj.csr().row_ptr, "row_ptr");
        expect_equal(a.adj.csr().col, b.adj.csr().col, "col");
        expect_equal(a.weight, b.weight, "weight");
        expect_equal(transpose(a.adj).adj.csr().col, transpose(b.adj).adj.csr().col, "transpose");
        EXPECT_EQ(transpose_pattern(a.adj) == a.adj, transpose_pattern(b.adj) == b.adj);
      }
}

TEST_P(DatasetsCsrForm, IsTheGraphOfTheEdgeList) {
  const TempDir dir;
  for (const Edges& edges : cases())
    for (const DType ids : {DType::kI64, DType::kI32})
      for (const bool weighted : {false, true}) {
        SCOPED_TRACE(testing::Message() << edges.name << ", " << ids << (weighted ? ", weighted" : ""));
        const auto count = static_cast<std::int64_t>(edges.indices.size());
        Parts csr, list;
        csr.edge_index = {};
        csr.indptr = Tensor::from(edges.indptr).to(ids), csr.indices = Tensor::from(edges.indices).to(ids);
        Ids both = edges.indices;
        const Ids dst = edges.dst();
        both.insert(both.end(), dst.begin(), dst.end());
        list.edge_index = Tensor::from(both, {2, count}).to(ids);
        if (weighted) csr.edge_weight = list.edge_weight = test::random_tensor({count}, DType::kF32, kCpu);
        csr.write(dir / "csr.h5");
        list.write(dir / "list.h5");
        const LoadOptions options{.need = Need::kTraining, .device = device()};
        const Dataset a = load_dataset(dir / "csr.h5", options), b = load_dataset(dir / "list.h5", options);
        EXPECT_EQ(a.num_nodes, b.num_nodes);
        EXPECT_EQ(a.num_edges(), b.num_edges());
        EXPECT_EQ(a.num_classes, b.num_classes);
        EXPECT_EQ(a.indptr.device(), device());
        EXPECT_EQ(a.indices.device(), device());
        expect_equal(a.edge_weight, b.edge_weight, "edge_weight");
        expect_equal(a.x, b.x, "x");
        expect_equal(a.y, b.y, "y");
        expect_equal(a.split.train, b.split.train, "train");
        expect_equal(a.split.val, b.split.val, "val");
        expect_equal(a.split.test, b.split.test, "test");
        expect_same_graph(a, b, device());
      }
}

TEST_P(DatasetsCsrForm, OfSortedRowsIsNeitherCopiedNorMoved) {
  Parts parts;
  parts.use_csr();
  parts.indices = test::ids({1, 3, 0, 5, 4});
  parts.edge_weight = Tensor::from<float>({1, 2, 3, 4, 5});
  const Dataset d = test::load(parts, {.device = device()});
  const Graph graph = to_graph(d, device());
  EXPECT_EQ(graph.adj.csr().col.raw(), d.indices.raw());
  EXPECT_EQ(graph.weight.raw(), d.edge_weight.raw());
}

TEST_P(DatasetsCsrForm, MadeByTheCallerIsCheckedWhereItIs) {
  Dataset d;
  d.num_nodes = 2;
  d.indptr = Tensor::from(Ids{0, 1, 5});
  d.indices = Tensor::from<std::int32_t>({0, 1});
  EXPECT_ERROR(to_graph(d, device()),
               "[sort_csr] row_ptr must rise from 0 to the number of edges, 2, but row_ptr[2] is 5");
  d.indptr = Tensor::from(Ids{0, 1, 2});
  d.indices = Tensor::from(Ids{0, std::int64_t{1} << 32});
  EXPECT_ERROR(to_graph(d, device()), "[sort_csr] column of edge 1 is 4294967296, outside [0, 2)");
  d.indices = Tensor::from(Ids{0, 1});
  d.edge_weight = Tensor::from<float>({1});
  EXPECT_ERROR(to_graph(d, device()), "[to_graph] edge_weight must be [2], got [1]");
}

}  // namespace
}  // namespace rodeo
