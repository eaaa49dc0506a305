#include "models/graph_classifier.h"

#include <utility>

#include "layers/norm.h"
#include "ops/dense.h"

namespace rodeo {

GraphClassifier::GraphClassifier(const GraphClassifierOptions& options, Random random, Device device,
                                 DType dtype)
    : options_(options), random_(random) {
  const auto& [conv, in, edge_in, hidden, classes, layers, dropout, train_eps, pool, spmm] = options;
  check(in >= 1 && hidden >= 1 && classes >= 1 && layers >= 1,
        "[graph_classifier] in, hidden, classes and layers must be at least 1, got ", in, ", ", hidden, ", ",
        classes, " and ", layers);
  check(edge_in >= 0 && (edge_in == 0 || conv == GraphClassifierOptions::Conv::kGin),
        "[graph_classifier] edge_in is for kGin and at least 0, got ", edge_in);
  check(dropout >= 0 && dropout < 1, "[graph_classifier] dropout must be in [0, 1), got ", dropout);
  const Sequential::Step rectify = [](const Variable& x) { return relu(x); };
  for (int i = 0; i < layers; ++i) {
    const std::int64_t from = i == 0 ? in : hidden;
    const std::string layer = str("conv", i + 1);
    if (conv == GraphClassifierOptions::Conv::kGcn) {
      gcn_.push_back(std::make_unique<GcnConv>(from, hidden, random_, true, device, dtype));
      register_module(layer, gcn_.back().get());
      continue;
    }
    auto nn = std::make_unique<Sequential>();
    nn->add(std::make_unique<Linear>(from, hidden, random_, true, device, dtype))
        .add(std::make_unique<BatchNorm>(hidden, BatchNormLayerOptions(), device, dtype))
        .add(rectify)
        .add(std::make_unique<Linear>(hidden, hidden, random_, true, device, dtype))
        .add(rectify);
    if (edge_in > 0) {
      gine_.push_back(std::make_unique<GineConv>(std::move(nn), from, edge_in, random_,
                                                 GinConvOptions{.train_eps = train_eps}, device, dtype));
      register_module(layer, gine_.back().get());
      continue;
    }
    gin_.push_back(
        std::make_unique<GinConv>(std::move(nn), GinConvOptions{.train_eps = train_eps}, device, dtype));
    register_module(layer, gin_.back().get());
  }
  pool_ = std::make_unique<GraphPool>(pool, hidden, random_, device, dtype);
  lin1_ = std::make_unique<Linear>(hidden, hidden, random_, true, device, dtype);
  lin2_ = std::make_unique<Linear>(hidden, classes, random_, true, device, dtype);
  register_module("pool", pool_.get());
  register_module("lin1", lin1_.get());
  register_module("lin2", lin2_.get());
}

Variable GraphClassifier::forward(const GcnGraph& graph, const Variable& x, const Tensor& offsets,
                                  const Variable& f) {
  check(f.defined() || gine_.empty(), "[graph_classifier] the edge features f are undefined");
  Variable h = x;
  for (const auto& conv : gin_) h = conv->forward(graph.adj, Features(h), options_.spmm);
  for (const auto& conv : gine_) h = conv->forward(graph.adj, h, f);
  for (const auto& conv : gcn_) h = relu(conv->forward(graph, Features(h), options_.spmm));
  h = relu(lin1_->forward(pool_->forward(h, offsets)));
  if (training() && options_.dropout > 0) h = dropout(h, options_.dropout, random_.next());
  return lin2_->forward(h);
}

}  // namespace rodeo
