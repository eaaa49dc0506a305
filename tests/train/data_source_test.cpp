#include "train/task/data_source.h"

#include "ops/dense_csr.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"

namespace rodeo::test {
namespace {

void expect_equal(const DataHeader& a, const DataHeader& b) {
  EXPECT_EQ(a.nodes, b.nodes);
  EXPECT_EQ(a.edges, b.edges);
  EXPECT_EQ(a.features, b.features);
  EXPECT_EQ(a.graphs, b.graphs);
  EXPECT_EQ(a.edge_features, b.edge_features);
  EXPECT_EQ(a.weighted, b.weighted);
  EXPECT_EQ(a.form, b.form);
  EXPECT_EQ(a.entries, b.entries);
  EXPECT_EQ(a.labels, b.labels);
}

TEST(TrainDataSource, AFileHasTheHeaderOfItsDataset) {
  const TempDir dir;
  Dataset dataset = tiny_dataset();
  const auto header = [&] {
    save_dataset(dataset, dir / "x.h5");
    const DataHeader data = read_header({.file = dir / "x.h5"});
    expect_equal(data, header_of(dataset));
    EXPECT_EQ(data.where, dir / "x.h5");
    EXPECT_TRUE(data.in_file);
    return data;
  };
  DataHeader data = header();
  EXPECT_EQ(data.nodes, 300);
  EXPECT_EQ(data.form, FeatureForm::kDense);
  EXPECT_EQ(data.labels, LabelKind::kClasses);
  EXPECT_EQ(data.edge_features, -1);
  EXPECT_EQ(data.dense_features(), 30);

  dataset.edge_weight = Tensor::full({dataset.num_edges()}, 1);
  dataset.edge_attr = Tensor::full({dataset.num_edges(), 3}, 1);
  const WeightedAdjacency entries = dense_to_csr(dataset.x);
  dataset.x_sparse = {entries.adj.csr().row_ptr, entries.adj.csr().col, entries.weight};
  dataset.x = {};
  dataset.y = Tensor::full({300, 2}, 0.5);
  dataset.num_classes = 2;
  dataset.class_names.clear();
  data = header();
  EXPECT_TRUE(data.weighted);
  EXPECT_EQ(data.edge_features, 3);
  EXPECT_EQ(data.labels, LabelKind::kTargets);
  EXPECT_EQ(data.not_on_disk, "they are sparse");
  EXPECT_EQ(data.dense_features(), 0);
}

TEST(TrainDataSource, ASampleOfRowsTellsTheDensity) {
  EXPECT_EQ(sampled_density(Tensor::full({5000, 3}, 1)), 1);
  EXPECT_EQ(sampled_density(Tensor::zeros({5000, 3})), 0);
  EXPECT_EQ(sampled_density(Tensor::zeros({0, 3})), 1) << "nothing says that it is sparse";
}

}  // namespace
}  // namespace rodeo::test
