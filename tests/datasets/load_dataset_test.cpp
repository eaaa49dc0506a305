#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tests/datasets/parts.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo {
namespace {

using test::flags;
using test::ids;
using test::Ids;
using test::load;
using test::Parts;
using test::same_bits;
using test::TempDir;

class DatasetsLoadTo : public test::OnDevice {};
RODEO_ON_ALL_DEVICES(DatasetsLoadTo);

TEST(DatasetsLoad, ReadsWhatTheSchemaNames) {
  const Dataset d = load(Parts());
  EXPECT_EQ(d.name, "a");
  EXPECT_EQ(d.num_nodes, 6);
  EXPECT_EQ(d.num_features, 2);
  EXPECT_EQ(d.num_classes, 3);
  EXPECT_EQ(d.num_edges(), 5);
  EXPECT_EQ(d.src.to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(d.dst.to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 2, 3, 4, 5}));
  EXPECT_TRUE(same_bits(d.x, Parts().x));
  EXPECT_TRUE(same_bits(d.y, Parts().y));
  EXPECT_EQ(d.split.train.to_vector<std::int64_t>(), (Ids{0, 1}));
  EXPECT_EQ(d.split.val.to_vector<std::int64_t>(), (Ids{2}));
  EXPECT_EQ(d.split.test.to_vector<std::int64_t>(), (Ids{3, 4}));
  EXPECT_FALSE(d.edge_weight.defined());
  EXPECT_FALSE(d.indptr.defined());
}

TEST(DatasetsLoad, OtherTypesAreConverted) {
  Parts parts;
  parts.edge_index = parts.edge_index.to(DType::kI32);
  parts.y = parts.y.to(DType::kI32);
  for (Tensor* mask : {&parts.train_mask, &parts.val_mask, &parts.test_mask}) *mask = mask->to(DType::kI64);
  for (const DType dtype : {DType::kF64, DType::kF16, DType::kBF16}) {
    parts.x = Parts().x.to(dtype);
    const Dataset d = load(parts);
    EXPECT_TRUE(same_bits(d.x, Parts().x)) << dtype;  // these small integers are exact in all
    EXPECT_TRUE(same_bits(d.y, Parts().y));
    EXPECT_EQ(d.src.to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
    EXPECT_EQ(d.split.test.to_vector<std::int64_t>(), (Ids{3, 4}));
  }
}

TEST_P(DatasetsLoadTo, RowsBeyondOneBlockAreAllRead) {
  Parts parts;
  parts.use_edges_only();
  const std::int64_t n = 3000, f = 3001;  // more than a block of elements, which rows do not divide
  parts.x = test::random_tensor({n, f}, DType::kF64, kCpu);
  EXPECT_TRUE(same_bits(load(parts, {.device = device()}).x.to(kCpu), parts.x.to(DType::kF32)));
  parts.x.data<double>()[2999 * f + 2] = 1e300;
  const TempDir dir;
  parts.write(dir / "a.h5");
  EXPECT_ERROR(load_dataset(dir / "a.h5", {.device = device()}),
               dir / "a.h5: /x[2999, 2] is not a finite float");
}

TEST_P(DatasetsLoadTo, EdgesBeyondOneBlockAreAllRead) {
  const std::int64_t count = 5'000'003;
  Ids edges(static_cast<std::size_t>(2 * count));
  for (std::size_t i = 0; i < edges.size(); ++i) edges[i] = static_cast<std::int64_t>(i * 7 % 1000);
  const TempDir dir;
  for (const DType dtype : {DType::kI32, DType::kI64}) {
    edges[5] = 1000;
    const Tensor list = Tensor::from(edges, {2, count}).to(dtype);
    Hdf5Writer file(dir / "a.h5");
    file.write("edge_index", list);
    file.commit();
    const Dataset d = load_dataset(dir / "a.h5", {.device = device()});
    EXPECT_EQ(d.num_nodes, 1001);  // the largest id and one
    EXPECT_TRUE(same_bits(d.src.to(kCpu), list.slice(0, 1).reshape({count}).to(DType::kI32)));
    EXPECT_TRUE(same_bits(d.dst.to(kCpu), list.slice(1, 2).reshape({count}).to(DType::kI32)));

    edges[static_cast<std::size_t>(2 * count - 1)] = -1;
    Hdf5Writer bad(dir / "a.h5");
    bad.write("edge_index", Tensor::from(edges, {2, count}).to(dtype));
    bad.attribute("num_nodes", std::int64_t{1001});
    bad.commit();
    EXPECT_ERROR(load_dataset(dir / "a.h5", {.device = device()}),
                 dir / "a.h5: /edge_index[1, 5000002] is -1, outside [0, 1001)");
    edges[static_cast<std::size_t>(2 * count - 1)] = 0;
  }
}

TEST(DatasetsLoad, AGraphNeedsNothingButEdges) {
  Parts parts;
  parts.use_edges_only();
  Dataset d = load(parts, {});
  EXPECT_EQ(d.num_nodes, 6);
  EXPECT_FALSE(d.x.defined() || d.y.defined() || d.split.train.defined());
  EXPECT_EQ(d.num_features, 0);
  EXPECT_EQ(d.num_classes, 0);
  parts.num_nodes = 10;
  EXPECT_EQ(load(parts, {}).num_nodes, 10);
  parts.num_nodes = {};
  parts.edge_index = Tensor::empty({2, 0}, DType::kI64);
  EXPECT_EQ(load(parts, {}).num_nodes, 0);
  parts.edge_index = {};
  parts.indptr = ids({0, 0, 0});
  parts.indices = ids({});
  EXPECT_EQ(load(parts, {}).num_nodes, 2);
}

TEST(DatasetsLoad, FeaturesMayStayInTheFile) {
  const Dataset d = load(Parts(), {.need = Need::kTraining, .features = false});
  EXPECT_FALSE(d.x.defined());
  EXPECT_EQ(d.num_features, 2);
}

TEST(DatasetsLoad, ClassesAreCountedWhereTheFileDoesNotSay) {
  EXPECT_EQ(load(Parts(std::nullopt)).num_classes, 3);
  EXPECT_EQ(load(Parts(9)).num_classes, 9);
  EXPECT_EQ(load(Parts(65536)).num_classes, 65536);
}

struct BadFile {
  const char* error;  // after the path
  std::function<void(Parts&)> spoil;
  LoadOptions options = {.need = Need::kTraining};
};

TEST_P(DatasetsLoadTo, EveryContradictionIsNamed) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const std::vector<BadFile> cases{
      {": /edge_index is missing, and so are /indptr and /indices", [](Parts& p) { p.edge_index = {}; }},
      {": has two sets of edges, /edge_index and /indptr with /indices",
       [](Parts& p) { p.indptr = ids({0}); }},
      {": /edge_index must be integer [2, edges], got f32 [2, 5]",
       [](Parts& p) { p.edge_index = p.edge_index.to(DType::kF32); }},
      {": /edge_index must be integer [2, edges], got i64 [10]",
       [](Parts& p) { p.edge_index = p.edge_index.reshape({10}); }},
      {": /edge_index must be integer [2, edges], got i64 [5, 2]",
       [](Parts& p) {
         p.edge_index = p.edge_index.reshape({5, 2});
       }},
      {": /edge_index[0, 3] is 6, outside [0, 6)",
       [](Parts& p) { p.edge_index.data<std::int64_t>()[3] = 6; }},
      {": /edge_index[1, 0] is -1, outside [0, 6)",
       [](Parts& p) { p.edge_index.data<std::int64_t>()[5] = -1; }},
      {": /edge_index[0, 1] is 4294967296, outside [0, 6)",
       [](Parts& p) {
         p.edge_index.data<std::int64_t>()[1] = std::int64_t{1} << 32;  // 0 in 32 bits
         p.edge_index.data<std::int64_t>()[4] = 77;                     // not the first
       }},
      {": /edge_index[1, 4] is 2147483647, outside [0, 2147483647)",
       [](Parts& p) {
         p.use_edges_only();
         p.edge_index.data<std::int64_t>()[9] = 2147483647;
       },
       {}},

      {": /indices is missing", [](Parts& p) { p.use_csr(), p.indices = {}; }},
      {": /indptr is missing", [](Parts& p) { p.use_csr(), p.indptr = {}; }},
      {": /indptr must be integer [nodes + 1], got f64 [7]",
       [](Parts& p) { p.use_csr(), p.indptr = p.indptr.to(DType::kF64); }},
      {": /indptr must have nodes + 1 entries, got none", [](Parts& p) { p.use_csr(), p.indptr = ids({}); }},
      {": /indptr must start at 0, got 1",
       [](Parts& p) { p.use_csr(), p.indptr.data<std::int64_t>()[0] = 1; }},
      {": /indptr must not decrease, but [4] is 2 after 3",
       [](Parts& p) { p.use_csr(), p.indptr.data<std::int64_t>()[4] = 2; }},
      {": /indptr must not decrease, but [6] is -9223372036854775808 after 4",
       [](Parts& p) {
         p.use_csr(), p.indptr.data<std::int64_t>()[6] = std::numeric_limits<std::int64_t>::min();
       }},
      {": /indptr must not decrease, but [3] is 3 after 9223372036854775807",
       [](Parts& p) {
         p.use_csr(), p.indptr.data<std::int64_t>()[2] = std::numeric_limits<std::int64_t>::max();
       }},
      {": /indptr must end at the length of /indices, 5, got 6",
       [](Parts& p) { p.use_csr(), p.indptr.data<std::int64_t>()[6] = 6; }},
      {": /indptr implies 5 nodes, /x implies 6",
       [](Parts& p) {
         p.use_csr(), p.indptr = ids({0, 2, 2, 3, 3, 5});
       }},
      {": /indices must be integer [edges], got i64 [5, 1]",
       [](Parts& p) {
         p.use_csr(), p.indices = p.indices.reshape({5, 1});
       }},
      {": /indices[2] is 6, outside [0, 6)",
       [](Parts& p) { p.use_csr(), p.indices.data<std::int64_t>()[2] = 6; }},

      {": /indices[1] is 4294967297, outside [0, 6)",
       [](Parts& p) {
         p.use_csr(), p.indices.data<std::int64_t>()[1] = (std::int64_t{1} << 32) + 1;  // 1 in 32 bits
         p.indices.data<std::int64_t>()[3] = -1;                                        // not the first
       }},
      {": /indices[4] is -5, outside [0, 6)",
       [](Parts& p) {
         p.use_csr(), p.indices = Tensor::from<std::int32_t>({3, 1, 0, 5, -5});
       }},

      {": /edge_weight must be numbers [edges], got i64 [5, 1]",
       [](Parts& p) {
         p.edge_weight = ids({1, 1, 1, 1, 1}).reshape({5, 1});
       }},
      {": /edge_weight must have a value for each of 5 edges, got 4",
       [](Parts& p) { p.edge_weight = Tensor::full({4}, 1); }},
      {": /edge_weight[2] is not a finite float",
       [=](Parts& p) {
         p.edge_weight = Tensor::from<float>({1, 1, nan, 1, inf});
       }},

      {": /x must be numbers [nodes, features], got i64 [5]",
       [](Parts& p) {
         p.x = ids({1, 2, 3, 4, 5});
       }},
      {": /x must be numbers [nodes, features], got f32 [12]", [](Parts& p) { p.x = p.x.reshape({12}); }},
      {": /x[2, 1] is not a finite float", [=](Parts& p) { p.x.data<float>()[5] = nan; }},
      {": /x[0, 0] is not a finite float", [=](Parts& p) { p.x.data<float>()[0] = -inf; }},
      {": /x is missing: training needs features [nodes, features]", [](Parts& p) { p.x = {}; }},
      {": /x must have at least one feature",
       [](Parts& p) {
         p.x = Tensor::empty({6, 0});
       }},

      {": /y is float, so it has 1 target of regression, and attribute num_classes is 3: classes must be "
       "integers",
       [](Parts& p) { p.y = p.y.to(DType::kF32); }},
      {": /y must be integer or float [nodes], [nodes, classes] or [nodes, targets], got i64 [6, 1, 1]",
       [](Parts& p) {
         p.y = p.y.reshape({6, 1, 1});
       }},
      {": /y implies 5 nodes, /x implies 6", [](Parts& p) { p.y = p.y.slice(0, 5); }},
      {": /y is missing: training needs labels [nodes]", [](Parts& p) { p.y = {}; }},
      {": attribute num_classes is 2147483647 for 6 labels, more than 65536",
       [](Parts& p) { p.num_classes = 2147483647; }},
      {": /y[1] is 2147483646, outside [0, 65536): number the classes 0, 1, 2 and so on",
       [](Parts& p) { p.num_classes.reset(), p.y.data<std::int64_t>()[1] = 2147483646; }},
      {": /y[2] is 3, outside [0, 3)", [](Parts& p) { p.y.data<std::int64_t>()[2] = 3; }},
      {": /y[3] is -1, outside [0, 3), and /test_mask has node 3",
       [](Parts& p) { p.y.data<std::int64_t>()[3] = -1; }},

      {": /val_mask must be integer or bool [nodes] or [nodes, splits], got f32 [6]",
       [](Parts& p) { p.val_mask = p.val_mask.to(DType::kF32); }},
      {": /val_mask implies 4 nodes, /x implies 6", [](Parts& p) { p.val_mask = p.val_mask.slice(0, 4); }},
      {": /test_mask[4] must be 0 or 1, got 2",
       [](Parts& p) {
         p.test_mask = flags({0, 0, 0, 1, 2, 0});
       }},
      {": /test_mask is missing: train, val and test masks are all required",
       [](Parts& p) { p.test_mask = {}; }},
      {": /train_mask is missing: training needs masks, or a split such as 60/20/20",
       [](Parts& p) { p.train_mask = p.val_mask = p.test_mask = {}; }},
      {": /train_mask and /test_mask both have node 1",
       [](Parts& p) {
         p.test_mask = flags({0, 1, 0, 1, 1, 0});
       }},
      {": /val_mask has no node",
       [](Parts& p) {
         p.val_mask = flags({0, 0, 0, 0, 0, 0});
       }},

      {": attribute num_nodes implies -1 nodes, outside [0, 2^31 - 1]", [](Parts& p) { p.num_nodes = -1; }},
      {": /x implies 6 nodes, attribute num_nodes implies 7", [](Parts& p) { p.num_nodes = 7; }},
      {": attribute num_classes must be in [1, 2^31 - 1], got 0", [](Parts& p) { p.num_classes = 0; }},

      {": split 98/1/1 leaves no node for val", [](Parts&) {}, {.need = Need::kTraining, .split = "98/1/1"}},
      {": split 60/20/20 leaves no node for train, because /y is negative for all nodes, which means "
       "unlabelled",
       [](Parts& p) { p.y = Tensor::full({6}, -1, DType::kI64); },
       {.need = Need::kTraining, .split = "60/20/20"}},
      {": /y is missing: split 60/20/20 needs labels", [](Parts& p) { p.y = {}; }, {.split = "60/20/20"}},
  };
  const TempDir dir;
  for (const BadFile& bad : cases) {
    Parts parts;
    bad.spoil(parts);
    parts.write(dir / "bad.h5");
    LoadOptions options = bad.options;
    options.device = device();
    EXPECT_ERROR(load_dataset(dir / "bad.h5", options), dir / "bad.h5" + bad.error);
  }
}

TEST(DatasetsLoad, TextInAttributesCannotBreakALine) {
  const TempDir dir;
  Hdf5Writer file(dir / "a.h5");
  file.write("edge_index", Parts().edge_index);
  file.attribute("name", std::string("two\nlines\x1b[31m"));
  file.commit();
  EXPECT_EQ(load_dataset(dir / "a.h5").name, "two\\nlines\\x1b[31m");
}

TEST(DatasetsLoad, ASplitReplacesMasks) {
  Parts parts;
  parts.y = ids({0, 1, 2, 0, 1, 2});
  parts.val_mask = parts.train_mask;  // would overlap
  const Dataset d = load(parts, {.need = Need::kTraining, .split = "50/34/16", .seed = 5});
  EXPECT_EQ(d.split.train.numel(), 3);
  EXPECT_EQ(d.split.val.numel(), 2);
  EXPECT_EQ(d.split.test.numel(), 1);
  EXPECT_TRUE(same_bits(d.split.train, random_split(parts.y, "50/34/16", 5).train));
}

}  // namespace
}  // namespace rodeo
