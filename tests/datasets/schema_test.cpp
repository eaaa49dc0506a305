/// Optional parts of schema version 1: sparse features, multi-label targets, several splits, edge weights.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <functional>

#include "datasets/hdf5/findings.h"
#include "tests/datasets/parts.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo {
namespace {

using test::flags;
using test::ids;
using test::Ids;
using test::Parts;
using test::same_bits;
using test::TempDir;

constexpr Need kTraining = Need::kTraining;

// The small file plus the objects that `more` adds.
struct File {
  TempDir dir;
  Parts parts;
  template <class More>
  std::string with(More&& more) {
    Hdf5Writer file(dir / "a.h5");
    parts.write(file);
    more(file);
    file.commit();
    return dir / "a.h5";
  }
};

TEST(DatasetsSchema, FilesOfAnotherVersionAreRefused) {
  File file;
  const auto version = [&](std::int64_t v) {
    return file.with([&](Hdf5Writer& f) { f.attribute("rodeo_schema", v); });
  };
  EXPECT_EQ(load_dataset(version(1)).num_nodes, 6);
  EXPECT_ERROR(load_dataset(version(3)),
               file.dir / "a.h5: attribute rodeo_schema is 3, newer than version 2 of this reader");
  EXPECT_ERROR(load_dataset(version(0)), file.dir / "a.h5: attribute rodeo_schema must be at least 1, got 0");
}

void write_sparse(Hdf5Writer& f) {
  f.write("x_indptr", ids({0, 2, 2, 3, 5, 5, 6}));
  f.write("x_indices", ids({3, 0, 1, 2, 2, 0}));
  f.write("x_data", Tensor::from<float>({1, 2, 3, 4, 5, 6}).to(DType::kF16));
}

TEST(DatasetsSchema, SparseFeaturesStaySparse) {
  File file;
  file.parts.x = {};
  const Dataset d = load_dataset(file.with(write_sparse), {.need = kTraining});
  EXPECT_FALSE(d.x.defined());
  EXPECT_TRUE(d.has_features());
  EXPECT_EQ(d.num_features, 4);
  EXPECT_EQ(d.x_sparse.indices.to_vector<std::int32_t>(), (std::vector<std::int32_t>{3, 0, 1, 2, 2, 0}));
  const std::vector<float> dense{2, 0, 0, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 6, 0, 0, 0};
  EXPECT_TRUE(same_bits(dense_features(d), Tensor::from(dense, {6, 4})));

  save_dataset(d, file.dir / "b.h5");
  const Dataset again = load_dataset(file.dir / "b.h5", {.need = kTraining});
  EXPECT_TRUE(same_bits(again.x_sparse.indptr, d.x_sparse.indptr));
  EXPECT_TRUE(same_bits(again.x_sparse.indices, d.x_sparse.indices));
  EXPECT_TRUE(same_bits(again.x_sparse.data, d.x_sparse.data));
  EXPECT_EQ(load_dataset(file.dir / "b.h5", {.features = false}).num_features, 4);
}

TEST(DatasetsSchema, SparseFeaturesThatContradictAreNamed) {
  File file;
  file.parts.x = {};
  const auto error = [&](const Tensor& indptr, const Tensor& indices, const Tensor& data,
                         std::int64_t features) {
    const std::string path = file.with([&](Hdf5Writer& f) {
      f.write("x_indptr", indptr);
      f.write("x_indices", indices);
      f.write("x_data", data);
      f.attribute("num_features", features);
    });
    return test::error_of([&] { load_dataset(path); }).substr(path.size());
  };
  const Tensor indptr = ids({0, 1, 1, 1, 1, 1, 2}), indices = ids({0, 3});
  const Tensor data = Tensor::full({2}, 1);
  EXPECT_EQ(error(ids({0, 1, 2}), indices, data, 4), ": /y implies 6 nodes, /x_indptr implies 2");
  EXPECT_EQ(error(indptr, indices, data, 3), ": /x_indices[1] is 3, outside [0, 3)");
  EXPECT_EQ(error(indptr, indices, Tensor::full({1}, 1), 4),
            ": /x_data must have a value for each of 2 entries of /x_indices, got 1");
  EXPECT_EQ(error(indptr, indices, Tensor::full({2}, NAN), 4), ": /x_data[0] is not a finite float");
  EXPECT_EQ(error(ids({0, 1, 0, 1, 1, 1, 2}), indices, data, 4),
            ": /x_indptr must not decrease, but [2] is 0 after 1");
  EXPECT_EQ(error(ids({1, 1, 1, 1, 1, 1, 2}), indices, data, 4), ": /x_indptr must start at 0, got 1");
  EXPECT_EQ(error(ids({0, 1, 1, 1, 1, 1, 1}), indices, data, 4),
            ": /x_indptr must end at the length of /x_indices, 2, got 1");
  EXPECT_EQ(error(ids({0, 1, 1, 1, 1, 1, 3}), indices, data, 4),
            ": /x_indptr must end at the length of /x_indices, 2, got 3");
  EXPECT_EQ(error(ids({}), indices, data, 4), ": /x_indptr must have nodes + 1 entries, got none");
  EXPECT_EQ(error(indptr, ids({0, -1}), data, 4), ": /x_indices[1] is -1, outside [0, 4)");
  EXPECT_EQ(error(indptr, indices, data, -1), ": attribute num_features must be in [0, 2^31 - 1], got -1");
  file.parts.x = Parts().x;
  EXPECT_ERROR(load_dataset(file.with(write_sparse)),
               file.dir / "a.h5: has two sets of features, /x and /x_indptr with /x_indices and /x_data");
}

TEST(DatasetsSchema, Bfloat16AsBitsIsRead) {
  File file;
  file.parts.x = {};
  const Tensor x = Tensor::from<float>({1, -2, 3.5, 0, 65280, 1, 1, 1, 1, 1, 1, 1}, {6, 2});
  const Tensor half = x.to(DType::kBF16);
  const std::string path = file.with([](Hdf5Writer&) {});
  // What h5py writes for bf16 bits [nodes, features] of uint16 with attrs["dtype"] = "bfloat16".
  const hid_t out = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hsize_t shape[] = {6, 2};
  const hid_t space = H5Screate_simple(2, shape, nullptr), one = H5Screate(H5S_SCALAR),
              text = H5Tcopy(H5T_C_S1);
  const hid_t array = H5Dcreate2(out, "x", H5T_STD_U16LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite(array, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, half.raw());
  H5Tset_size(text, 8);
  const hid_t attribute = H5Acreate2(array, "dtype", text, one, H5P_DEFAULT, H5P_DEFAULT);
  H5Awrite(attribute, text, "bfloat16");
  H5Aclose(attribute);
  H5Dclose(array);
  for (const hid_t id : {space, one}) H5Sclose(id);
  H5Tclose(text);
  H5Fclose(out);
  EXPECT_TRUE(same_bits(load_dataset(path).x, x));
}

TEST(DatasetsSchema, SeveralLabelsANode) {
  File file;
  file.parts.num_classes = {};
  file.parts.y = Tensor::from<std::uint8_t>({1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0}, {6, 2});
  const auto nothing = [](Hdf5Writer&) {};
  const Dataset d = load_dataset(file.with(nothing), {.need = kTraining});
  EXPECT_TRUE(d.multi_label());
  EXPECT_EQ(d.num_classes, 2);
  EXPECT_TRUE(same_bits(d.y, file.parts.y));
  EXPECT_EQ(load_dataset(file.dir / "a.h5", {.need = kTraining, .split = "50/25/25"}).split.train.numel(), 3);
  save_dataset(d, file.dir / "b.h5");
  EXPECT_TRUE(same_bits(load_dataset(file.dir / "b.h5").y, d.y));

  file.parts.y = Tensor::from<std::int32_t>({1, 0, 0, -1, 0, 1, 0, 0, 0, 1, 1, -1}, {6, 2});
  const Dataset missing = load_dataset(file.with(nothing));
  EXPECT_EQ(missing.y.to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{1, 0, 0, 255, 0, 1, 0, 0, 0, 1, 1, 255}));
  save_dataset(missing, file.dir / "c.h5");
  EXPECT_TRUE(same_bits(load_dataset(file.dir / "c.h5").y, missing.y));

  file.parts.y = Tensor::from<std::int64_t>({1, 0, 0, 1, 256, 1, 0, 0, 0, 1, 1, 0}, {6, 2});
  EXPECT_ERROR(load_dataset(file.with(nothing)),
               file.dir / "a.h5: /y[2, 0] must be 0, 1, or -1 where it is not known, got 256");
  file.parts.num_classes = 3;
  EXPECT_ERROR(load_dataset(file.with(nothing)),
               file.dir / "a.h5: /y has 2 classes, attribute num_classes is 3");
}

TEST(DatasetsSchema, OneOfSeveralSplits) {
  File file;
  file.parts.train_mask = flags({1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0}).reshape({6, 2});
  file.parts.val_mask = flags({0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}).reshape({6, 2});
  file.parts.test_mask = flags({0, 0, 0, 0, 1, 1, 1, 0, 1, 1, 0, 0}).reshape({6, 2});
  const std::string path = file.with([](Hdf5Writer&) {});
  const auto train = [&](const std::string& split) {
    return load_dataset(path, {.need = kTraining, .split = split}).split.train.to_vector<std::int64_t>();
  };
  EXPECT_EQ(train(""), (Ids{0}));
  EXPECT_EQ(train("0"), (Ids{0}));
  EXPECT_EQ(train("1"), (Ids{1, 3}));
  EXPECT_ERROR(load_dataset(path, {.split = "2"}),
               path + ": split 2 is outside [0, 2), the splits of /train_mask");
  EXPECT_ERROR(load_dataset(path, {.split = "-1"}),
               path + ": split -1 is outside [0, 2), the splits of /train_mask");

  const Dataset all = load_dataset(path, {.all_splits = true});
  ASSERT_EQ(all.splits.size(), 2u);
  save_dataset(all, file.dir / "b.h5");
  EXPECT_EQ(load_dataset(file.dir / "b.h5", {.split = "1"}).split.train.to_vector<std::int64_t>(),
            (Ids{1, 3}));

  file.parts.val_mask = flags({0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}).reshape({6, 2});
  const std::string bad = file.with([](Hdf5Writer&) {});
  EXPECT_ERROR(load_dataset(bad, {.split = "1"}),
               bad + ": /train_mask[:, 1] and /val_mask[:, 1] both have node 1");
}

TEST(DatasetsSchema, SplitsMustAgree) {
  File file;
  file.parts.val_mask = flags({0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}).reshape({6, 2});
  const std::string path = file.with([](Hdf5Writer&) {});
  EXPECT_ERROR(load_dataset(path), path + ": /val_mask has 2 splits in a matrix, another mask has 1");
  file.parts.train_mask = file.parts.val_mask = file.parts.test_mask = {};
  EXPECT_ERROR(load_dataset(file.with([](Hdf5Writer&) {}), {.split = "0"}),
               path + ": /train_mask is missing: a split by number needs masks, or a split such as 60/20/20");
}

TEST(DatasetsSchema, NodeIdsAreKept) {
  File file;
  const Tensor id = ids({5, 4, 3, 2, 1, 100});
  const std::string path = file.with([&](Hdf5Writer& f) { f.write("node_id", id); });
  const Dataset d = load_dataset(path);
  EXPECT_TRUE(same_bits(d.node_id, id));
  save_dataset(d, file.dir / "b.h5");
  EXPECT_TRUE(same_bits(load_dataset(file.dir / "b.h5").node_id, id));
}

TEST(DatasetsSchema, ValidateFindsEverything) {
  File file;
  file.parts.edge_index.data<std::int64_t>()[3] = 6;
  file.parts.edge_index.data<std::int64_t>()[7] = -1;
  file.parts.x.data<float>()[4] = NAN;
  file.parts.y.data<std::int64_t>()[0] = 9;
  file.parts.val_mask = flags({1, 0, 1, 0, 0, 0});
  file.parts.test_mask = flags({0, 1, 0, 1, 2, 0});
  const std::string path = file.with([](Hdf5Writer& f) {
    f.write("edge_weight", Tensor::full({4}, 1));
    f.write("node_id", ids({1}));
    f.attribute("rodeo_schema", std::int64_t{7});
  });
  const std::vector<std::string> want{
      ": attribute rodeo_schema is 7, newer than version 2 of this reader",
      ": /edge_index[0, 3] is 6, outside [0, 6)",
      ": /edge_index[1, 2] is -1, outside [0, 6)",
      ": /edge_weight must have a value for each of 5 edges, got 4",
      ": /y[0] is 9, outside [0, 3)",
      ": /test_mask[4] must be 0 or 1, got 2",
      ": /train_mask and /val_mask both have node 0",
      ": /x[2, 0] is not a finite float",
      ": /node_id must have a value for each of 6 nodes, got 1",
  };
  const std::vector<std::string> got = validate_dataset(path);
  ASSERT_EQ(got.size(), want.size()) << testing::PrintToString(got);
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got[i], path + want[i]);
  EXPECT_TRUE(validate_dataset(File().with([](Hdf5Writer&) {})).empty());
}

// A later check uses only what an earlier one has established: these masks and labels are far longer than the
// graph, so that an index into it would be out of bounds.
TEST(DatasetsSchema, ValidateGoesOnAfterContradictingSizes) {
  constexpr std::int64_t kLong = 4'000'000;
  const auto findings = [](const std::function<void(Parts&)>& spoil) {
    File file;
    spoil(file.parts);
    const std::string path = file.with([](Hdf5Writer&) {});
    std::vector<std::string> all = validate_dataset(path);
    for (std::string& text : all) text = text.substr(path.size());
    return all;
  };
  const Tensor mask = Tensor::zeros({kLong}, DType::kU8), two = Tensor::zeros({kLong, 2}, DType::kU8);
  mask.data<std::uint8_t>()[kLong - 1] = two.data<std::uint8_t>()[2 * kLong - 1] = 1;
  using Texts = std::vector<std::string>;
  EXPECT_EQ(findings([&](Parts& p) { p.val_mask = mask; }),
            (Texts{": /val_mask implies 4000000 nodes, /x implies 6"}));
  EXPECT_EQ(findings([&](Parts& p) { p.train_mask = p.val_mask = p.test_mask = two; }),
            (Texts{": /train_mask implies 4000000 nodes, /x implies 6",
                   ": /val_mask implies 4000000 nodes, /x implies 6",
                   ": /test_mask implies 4000000 nodes, /x implies 6"}));
  EXPECT_EQ(findings([&](Parts& p) { p.y = ids(Ids(kLong, 1)), p.test_mask = mask; }),
            (Texts{": /y implies 4000000 nodes, /x implies 6",
                   ": /test_mask implies 4000000 nodes, /x implies 6"}));
  EXPECT_EQ(findings([&](Parts& p) { p.val_mask = mask.to(DType::kF32); }),
            (Texts{": /val_mask must be integer or bool [nodes] or [nodes, splits], got f32 [4000000]"}));
  EXPECT_EQ(findings([&](Parts& p) {
              p.use_csr();
              p.indptr = ids(Ids(kLong, 5)), p.val_mask = mask;
            }),
            (Texts{": /val_mask implies 4000000 nodes, /x implies 6",
                   ": /indptr implies 3999999 nodes, /x implies 6"}));
  EXPECT_EQ(findings([&](Parts& p) {
              p.use_edges_only();
              p.num_nodes = -5, p.train_mask = mask, p.val_mask = two;
            }),
            (Texts{": attribute num_nodes implies -5 nodes, outside [0, 2^31 - 1]",
                   ": /val_mask has 2 splits in a matrix, another mask has 1",
                   ": /test_mask is missing: train, val and test masks are all required"}));
}

TEST(DatasetsSchema, LackOfMemoryIsNoViolation) {
  std::vector<std::string> findings;
  const auto broken = [] { fail("a rule"); };
  EXPECT_TRUE(collect(&findings, [] {}));
  EXPECT_FALSE(collect(&findings, broken));
  EXPECT_THROW(collect(&findings, [] { throw OutOfMemory("no memory"); }), OutOfMemory);
  EXPECT_EQ(findings, std::vector<std::string>{"a rule"});
  EXPECT_THROW(collect(nullptr, broken), Error);
}

TEST(DatasetsSchema, ValidateOfEmptySparseRowPointers) {
  File file;
  file.parts.use_edges_only();
  const std::string path = file.with([](Hdf5Writer& f) {
    f.write("x_indptr", ids({}));
    f.write("x_indices", ids({}));
    f.write("x_data", Tensor::empty({0}));
  });
  EXPECT_EQ(validate_dataset(path),
            (std::vector<std::string>{path + ": /x_indptr must have nodes + 1 entries, got none",
                                      path + ": /x_indptr must have nodes + 1 entries, got 0"}));
}

}  // namespace
}  // namespace rodeo
