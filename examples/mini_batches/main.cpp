// Trains GraphSAGE on mini-batches of sampled neighbourhoods, and evaluates it on the whole graph.
//   mini_batches [FILE.h5]      without a file: a random graph of Cora's size
#include <cstdio>

#include "rodeo/core/threads.h"
#include "rodeo/datasets/neighbor_sampler.h"
#include "rodeo/datasets/synthetic.h"
#include "rodeo/models/sage.h"
#include "rodeo/ops/convert.h"
#include "rodeo/ops/loss.h"
#include "rodeo/train/adam.h"

using namespace rodeo;

int main(int argc, char** argv) try {
  configure_threads(argv);  // faster where other programs run
  const Dataset data =
      argc > 1 ? load_dataset(argv[1], {.need = Need::kTraining}) : synthesize(synthetic_preset("cora"));
  const Device device = parse_device("auto");
  const Adjacency graph = to_graph(data, device).adj;
  const Tensor x = dense_features(data).to(device), label = data.y.to(device),
               test = data.split.test.to(device);

  // Batches of 64 training nodes in a new order each epoch. A node keeps at most 10 neighbours, and each of
  // these at most 5.
  const MiniBatches batches(data.split.train, data.num_nodes, 64, /*seed=*/0, device);
  const NeighborSampler sampler(graph, {.fanout = {10, 5}});
  Sage model({.in = data.num_features, .hidden = 64, .classes = data.num_classes}, Random(0), device);
  Adam adam({{model.parameters(), {.lr = 0.003, .weight_decay = 5e-4}}});

  for (int epoch = 1; epoch <= 30; ++epoch) {
    model.train();
    double sum = 0;
    std::int64_t number = 0;
    for (const Tensor& targets : batches.epoch(epoch)) {
      const RandomStep random_step(adam.step_counter());  // dropout masks of this step
      const SampledBatch batch = sampler.sample_checked(targets, epoch, number++);
      std::vector<Adjacency> blocks;
      for (const Block& block : batch.blocks) blocks.push_back(block.adj);
      // The features of the nodes that the first layer reads; their rows are not copied.
      const Variable logits = model.forward(blocks, Features(PendingRows{x, batch.inputs()}));
      std::vector<std::int64_t> rows(static_cast<std::size_t>(targets.numel()));
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i);
      const Variable loss = nll_loss(log_softmax(logits), take(label, targets), Tensor::from(rows, device));
      loss.backward();
      adam.step();
      adam.zero_grad();
      sum += loss.value().item();
    }
    if (epoch % 10 == 0) std::printf("epoch %3d  loss %.4f\n", epoch, sum / static_cast<double>(number));
  }
  const NoGrad no_grad;
  model.eval();
  std::printf("test accuracy %.4f\n", accuracy(model.forward(graph, Features(x)).value(), label, test));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "mini_batches: %s\n", error.what());
  return 2;
}
