#include "models/gcn.h"
#include "ops/dense.h"
#include "ops/dense_csr.h"
#include "ops/loss.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/tiny.h"

namespace rodeo::test {
namespace {

class DatasetsSparseFeatures : public OnDevice {};
RODEO_ON_ALL_DEVICES(DatasetsSparseFeatures);

std::vector<double> dense_values(const Features& x) {
  return doubles(csr_to_dense(x.entries(), x.values()));
}

TEST_P(DatasetsSparseFeatures, FromAnEdgeListAndFromACsr) {
  // Unsorted; entry (1, 0) is there twice.
  const Tensor row = Tensor::from(std::vector<std::int64_t>{2, 1, 0, 1}, device()),
               col = Tensor::from(std::vector<std::int64_t>{1, 0, 2, 0}, device()),
               value = Tensor::from(std::vector<float>{5, 1, 3, 2}, device());
  const std::vector<double> want{0, 0, 3, 3, 0, 0, 0, 5, 0};
  const Features coo = sparse_features(row, col, value, 3, 3);
  EXPECT_TRUE(coo.is_sparse());
  EXPECT_EQ(coo.shape(), (Shape{3, 3}));
  EXPECT_EQ(coo.values().numel(), 3);
  EXPECT_EQ(dense_values(coo), want);

  Dataset data;
  data.num_nodes = data.num_features = 3;
  data.x_sparse = {Tensor::from(std::vector<std::int64_t>{0, 1, 3, 4}),
                   Tensor::from(std::vector<std::int32_t>{2, 0, 0, 1}),
                   Tensor::from(std::vector<float>{3, 1, 2, 5})};
  const Features csr = sparse_features(data, device());
  EXPECT_EQ(csr.device(), device());
  EXPECT_EQ(dense_values(csr), want);
  data.x = Tensor::from(std::vector<float>{0, 0, 3, 3, 0, 0, 0, 5, 0}, {3, 3});
  data.x_sparse = {};
  EXPECT_EQ(dense_values(sparse_features(data, device())), want);
  EXPECT_EQ(sparse_features(data, device()).values().numel(), 3);
}

TEST_P(DatasetsSparseFeatures, Errors) {
  const Tensor id = Tensor::from(std::vector<std::int64_t>{0, 1}, device()),
               value = Tensor::full({2}, 1, DType::kF32, device());
  EXPECT_ERROR(sparse_features(id, id, Tensor::full({3}, 1, DType::kF32, device()), 2, 2),
               "[sparse_features] value must be [2], got [3]");
  EXPECT_ERROR(sparse_features(id, id, id, 2, 2), "[sparse_features] value must be floating point, got i64");
  EXPECT_NE(error_of([&] { sparse_features(id, id, value, 2, 1); }).find("[coo_to_csr]"), std::string::npos);
  EXPECT_ERROR(sparse_features(Dataset()), "[sparse_features] the dataset has no features");
  Dataset data;
  data.num_nodes = 2, data.num_features = 1;
  data.x_sparse = {Tensor::from(std::vector<std::int64_t>{0, 1, 2}),
                   Tensor::from(std::vector<std::int32_t>{0, 1}), Tensor::full({2}, 1)};
  EXPECT_ERROR(sparse_features(data, device()), "[adjacency] col[1] = 1 is outside [0, 1)");
}

// What the guide shows: a model trains on them, and gives what the dense ones give.
TEST_P(DatasetsSparseFeatures, AModelTrainsOnThem) {
  const Dataset data = tiny_dataset();
  const GcnGraph graph = gcn_norm(to_graph(data, device()).adj);
  const Features sparse = normalize_rows(sparse_features(data, device())),
                 dense(normalize_rows(dense_features(data).to(device())));
  const GcnOptions options{.in = data.num_features, .hidden = 8, .classes = data.num_classes};
  Gcn a(options, Random(1), device()), b(options, Random(1), device());
  const Tensor label = data.y.to(device()), train = data.split.train.to(device());
  const auto step = [&](Gcn& model, const Features& x) {
    const Variable loss = cross_entropy(model.forward(graph, x), label, train);
    loss.backward();
    for (Variable& p : model.parameters()) {
      const std::vector<float> g = p.grad().to_vector<float>();
      std::vector<float> v = p.value().to_vector<float>();
      for (std::size_t i = 0; i < v.size(); ++i) v[i] -= 2 * g[i];
      p.set_value(Tensor::from(v, p.shape(), device()));
    }
    return loss.value().item();
  };
  const double before = step(a, sparse);
  EXPECT_NEAR(step(b, dense), before, 1e-5);
  double after = before;
  for (int i = 0; i < 30; ++i) {
    after = step(a, sparse);
    EXPECT_NEAR(step(b, dense), after, 1e-3) << i;
  }
  EXPECT_LT(after, 0.99 * before);
}

}  // namespace
}  // namespace rodeo::test
