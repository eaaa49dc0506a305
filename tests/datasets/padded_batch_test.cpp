#include "datasets/padded_batch.h"

#include <cmath>
#include <functional>
#include <memory>
#include <numeric>

#include "datasets/synthetic.h"
#include "layers/gat_conv.h"
#include "models/sage.h"
#include "ops/combine.h"
#include "ops/dense.h"
#include "ops/gather_rows.h"
#include "ops/loss.h"
#include "ops/spmm.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

class DatasetsPaddedBatch : public OnDevice {
 protected:
  DatasetsPaddedBatch() {
    SyntheticOptions size;
    size.nodes = 500;
    size.edges = 4000;
    size.features = 12;
    size.classes = 4;
    size.val = size.test = 100;
    data_ = synthesize(size);
  }
  Dataset data_;
};
RODEO_ON_ALL_DEVICES(DatasetsPaddedBatch);

Tensor nodes(std::int64_t first, std::int64_t count, Device device) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < count; ++i) ids.push_back((first + 7 * i) % 500);
  return Tensor::from(ids, device);
}

// Features that come with a batch: those of the rows beyond are finite, and may be of an earlier batch.
TEST_P(DatasetsPaddedBatch, FeaturesComeWithTheBatch) {
  const Adjacency graph = to_graph(data_, device()).adj;
  const Tensor x = random_tensor({500, 12}, DType::kF32, device(), 3);
  const NeighborSampler sampler(graph, {{6, 4}});
  PaddedBatch padded(graph, sampler.options(), 20);
  const Tensor* memory = nullptr;
  for (int epoch = 0; epoch < 3; ++epoch) {
    SampledBatch batch = sampler.sample(nodes(epoch, 20, device()), epoch);
    batch.features = gather_rows(x, batch.inputs());
    padded.load(batch);
    const Tensor& features = padded.batch().features;
    ASSERT_EQ(features.dim(0), padded.batch().inputs().numel());
    EXPECT_TRUE(same_bits(features.slice(0, batch.inputs().numel()), batch.features));
    for (const float value : features.to_vector<float>()) ASSERT_TRUE(std::isfinite(value));
    EXPECT_TRUE(!memory || memory->shares_memory_with(features));
    memory = &features;
  }
}

using Forward = std::function<Variable(const std::vector<Adjacency>& blocks, const Variable& x)>;

// Gradients of the weights, and the logits, on batch after batch in the same memory: those of the batch
// itself.
void expect_those_of_the_batch(const Adjacency& graph, Module& model, const Forward& forward, DType dtype,
                               double tolerance) {
  const Device device = graph.device();
  const Tensor x = random_tensor({500, 12}, dtype, device, 3);
  const NeighborSampler sampler(graph, {{6, 4, 3}});
  PaddedBatch padded(graph, sampler.options(), 40);
  const Tensor label = Tensor::zeros({40}, DType::kI64, device);
  std::vector<std::int64_t> all(40);
  std::iota(all.begin(), all.end(), 0);
  const Tensor every = Tensor::from(all, device);
  const auto gradients = [&](const SampledBatch& batch) {
    std::vector<Adjacency> blocks;
    for (const Block& block : batch.blocks) blocks.push_back(block.adj);
    const Variable logits = forward(blocks, Variable(gather_rows(x, batch.inputs())));
    nll_loss(log_softmax(logits), label, every).backward();
    std::vector<Tensor> out{logits.value().slice(0, 40)};
    for (Variable& parameter : model.parameters()) {
      out.push_back(parameter.grad());
      parameter.zero_grad();
    }
    return out;
  };
  for (const std::int64_t first : {0, 13, 200, 450}) {
    const SampledBatch batch = sampler.sample(nodes(first, 40, kCpu), 0, first);
    const std::vector<Tensor> want = gradients(batch);
    padded.prepare(batch);
    padded.load(batch);
    EXPECT_GT(padded.batch().inputs().numel(), batch.inputs().numel());
    const std::vector<Tensor> got = gradients(padded.batch());
    if (first == 0) padded.keep_what_was_used();
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(near(got[i], doubles(want[i]), tolerance, tolerance))
          << "value " << i << ", batch at " << first << ", " << dtype;
  }
}

TEST_P(DatasetsPaddedBatch, SumsAndGradientsAreThoseOfTheBatch) {
  for (const Reduce reduce : {Reduce::kMean, Reduce::kSum})
    for (const std::int64_t hidden : {4, 20}) {  // layer 0 multiplies first, or sums first
      Sage model({.in = 12, .hidden = hidden, .classes = 5, .layers = 3, .dropout = 0, .aggr = reduce},
                 Random(1), device(), DType::kF64);
      expect_those_of_the_batch(
          to_graph(data_, device()).adj, model,
          [&](const std::vector<Adjacency>& blocks, const Variable& h) { return model.forward(blocks, h); },
          DType::kF64, 1e-12);
    }
}

TEST_P(DatasetsPaddedBatch, AttentionAndGradientsAreThoseOfTheBatch) {
  struct Layers : Module {
    Layers(Device device, DType dtype) {
      Random random(1);
      for (const std::int64_t in : {12, 24, 24}) {
        layers.push_back(std::make_unique<GatConv>(
            AttentionConvOptions{.in = in, .out = 8, .heads = 3, .dropout = 0.3}, random, device, dtype));
        register_module("conv" + std::to_string(layers.size()), layers.back().get());
      }
    }
    std::vector<std::unique_ptr<GatConv>> layers;
  };
  for (const DType dtype : {DType::kF64, DType::kF32}) {
    Layers model(device(), dtype);
    model.train();
    const auto forward = [&](const std::vector<Adjacency>& blocks, Variable h) {
      Random masks(7);  // the same ones for both batches: they are of rows and columns of a block
      for (std::size_t l = 0; l < blocks.size(); ++l)
        h = elu(model.layers[l]->forward(blocks[l], BipartiteFeatures{h, rows(h, 0, blocks[l].rows())},
                                         masks.next()));
      return h;
    };
    expect_those_of_the_batch(to_graph(data_, device()).adj, model, forward, dtype,
                              dtype == DType::kF64 ? 1e-12 : 2e-5);
  }
}

TEST_P(DatasetsPaddedBatch, RefusesWhatItCannotHold) {
  const Adjacency graph = to_graph(data_, device()).adj;
  EXPECT_ERROR(PaddedBatch(graph, {{-1, 3}}, 8),
               "[padded_batch] a batch with all neighbours has no largest size: give each layer a fan-out");
  PaddedBatch padded(graph, {{2}}, 8);
  const SampledBatch larger = NeighborSampler(graph, {{30}}).sample(nodes(0, 8, kCpu));
  EXPECT_NE(error_of([&] { padded.load(larger); }).find("does not fit into 8 x 24 with 16 edges"),
            std::string::npos);
}

// Without replacement no edge comes twice.
TEST_P(DatasetsPaddedBatch, HoldsTheLargestBatch) {
  const Adjacency graph = to_graph(data_, device()).adj;
  const auto edges = [&](bool replace) {
    return PaddedBatch(graph, {.fanout = {30}, .replace = replace}, 400).batch().blocks[0].edge_ids.numel();
  };
  EXPECT_EQ(edges(false), graph.num_edges());
  EXPECT_EQ(edges(true), 12000);
}

TEST_P(DatasetsPaddedBatch, NamesWorkThatMakesPlans) {
  const Adjacency graph = to_graph(data_, device()).adj;
  PaddedBatch padded(graph, {{3}}, 8);
  const SampledBatch batch = NeighborSampler(graph, {{3}}).sample(nodes(0, 8, kCpu));
  padded.prepare(batch);
  padded.load(batch);
  const Adjacency& block = padded.batch().blocks[0].adj;
  spmm(block, Tensor::zeros({block.cols(), 4}, DType::kF32, device()), {SpmmAlgorithm::kRode});
  EXPECT_EQ(error_of([&] { padded.keep_what_was_used(); }),
            "[padded_graph] the work made plans of a graph whose edges change: it must use sums and means by "
            "csr, or fused attention");
}

}  // namespace
}  // namespace rodeo::test
