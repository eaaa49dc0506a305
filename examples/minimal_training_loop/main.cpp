// Trains a GCN without Trainer, Adam, Module or command line: the whole training loop is in this file.
//   minimal_training_loop [FILE.h5]      without a file: a random graph of Cora's size
#include <cstdio>

#include "rodeo/core/threads.h"
#include "rodeo/datasets/synthetic.h"
#include "rodeo/ops/dense.h"
#include "rodeo/ops/gcn_norm.h"
#include "rodeo/ops/loss.h"
#include "rodeo/ops/optim.h"

using namespace rodeo;

int main(int argc, char** argv) try {
  configure_threads(argv);  // faster where other programs run
  const Dataset data =
      argc > 1 ? load_dataset(argv[1], {.need = Need::kTraining}) : synthesize(synthetic_preset("cora"));
  const Device device = parse_device("auto");
  const GcnGraph graph = gcn_norm(to_graph(data, device).adj);
  const Variable x(normalize_rows(dense_features(data).to(device)));
  const Tensor label = data.y.to(device), train = data.split.train.to(device),
               test = data.split.test.to(device);

  // The parameters, and the state of Adam for each: two moments, a step counter and a learning rate.
  Random random(0);
  std::vector<Variable> parameters;
  std::vector<AdamUpdate> updates;
  const auto parameter = [&](const Tensor& value) {
    const auto zeros = [&] { return Tensor::zeros(value.shape(), DType::kF32, device); };
    updates.push_back({value, {}, zeros(), zeros(), {.weight_decay = 5e-4}, std::ssize(updates)});
    return parameters.emplace_back(value, /*requires_grad=*/true);
  };
  const std::int64_t hidden = 16;
  const Variable w1 =
      parameter(glorot_uniform(data.num_features, hidden, random.next(), DType::kF32, device));
  const Variable w2 = parameter(glorot_uniform(hidden, data.num_classes, random.next(), DType::kF32, device));
  const Variable b1 = parameter(Tensor::zeros({hidden}, DType::kF32, device));
  const Variable b2 = parameter(Tensor::zeros({data.num_classes}, DType::kF32, device));
  const Tensor steps = Tensor::zeros({std::ssize(updates) + 1}, DType::kI64, device);
  const Tensor lr = Tensor::full({std::ssize(updates)}, 0.01, DType::kF64, device);

  const auto forward = [&](double p) {  // p: dropout probability
    const Variable h = relu(add_bias(propagate(graph, matmul(dropout(x, p, random.next()), w1)), b1));
    return log_softmax(add_bias(propagate(graph, matmul(dropout(h, p, random.next()), w2)), b2));
  };
  for (int epoch = 1; epoch <= 100; ++epoch) {
    const Variable loss = nll_loss(forward(0.5), label, train);
    loss.backward();
    for (std::size_t i = 0; i < updates.size(); ++i) updates[i].g = parameters[i].grad();
    adam_step(updates, steps, lr);
    for (Variable& each : parameters) each.zero_grad();
    if (epoch % 20 == 0) std::printf("epoch %3d  loss %.4f\n", epoch, loss.value().item());
  }
  const NoGrad no_grad;
  std::printf("test accuracy %.4f\n", accuracy(forward(0).value(), label, test));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "minimal_training_loop: %s\n", error.what());
  return 2;
}
