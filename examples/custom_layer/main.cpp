// Trains a network of two custom layers, after checking their gradients.
//   custom_layer [FILE.h5]      without a file: a random graph of Cora's size
#include <cstdio>

#include "gine_conv.h"
#include "rodeo/core/threads.h"
#include "rodeo/datasets/subgraph.h"
#include "rodeo/datasets/synthetic.h"
#include "rodeo/layers/gradcheck_layer.h"
#include "rodeo/train/trainer.h"

using namespace rodeo;

struct Inputs {
  Adjacency adj;
  Tensor x, f, scale;  // node features, edge features, 1 / degree
};

// The feature of an edge: the dot product of the features of its two nodes.
Inputs make_inputs(const Dataset& data, Device device, DType dtype) {
  Inputs in;
  in.adj = to_graph(data, device).adj;
  in.x = normalize_rows(dense_features(data).to(dtype).to(device));
  in.f = sddmm(in.adj, in.x, in.x).reshape({in.adj.num_edges(), 1});
  std::vector<double> scale(static_cast<std::size_t>(in.adj.rows()));
  const std::vector<std::int64_t> row_ptr = in.adj.csr().row_ptr.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < scale.size(); ++i)
    scale[i] = 1. / static_cast<double>(std::max<std::int64_t>(1, row_ptr[i + 1] - row_ptr[i]));
  in.scale = Tensor::from(scale, device).to(dtype);
  return in;
}

struct Model : Module {
  Model(const Dataset& data, Random random, Device device)
      : random(random),
        conv1(data.num_features, 1, 16, this->random, device),
        conv2(16, 1, data.num_classes, this->random, device) {
    register_module("conv1", &conv1);
    register_module("conv2", &conv2);
  }
  Variable forward(const Inputs& in) {
    const auto drop = [&](const Variable& h) { return training() ? dropout(h, 0.5, random.next()) : h; };
    const Variable f(in.f), h = relu(conv1.forward(in.adj, in.scale, drop(Variable(in.x)), f));
    return conv2.forward(in.adj, in.scale, drop(h), f);
  }
  Random random;
  GineConv conv1, conv2;
};

int main(int argc, char** argv) try {
  configure_threads(argv);  // faster where other programs run
  const Dataset data =
      argc > 1 ? load_dataset(argv[1], {.need = Need::kTraining}) : synthesize(synthetic_preset("cora"));
  const Device device = parse_device("auto");

  // Check the gradients in float64 on a subgraph of 20 nodes.
  const Inputs few = make_inputs(induced_subgraph(data, neighbourhood(data, 20)), device, DType::kF64);
  const Variable x(few.x, true), f(few.f, true);
  Random random(1);
  const GineConv conv(data.num_features, 1, 4, random, device, DType::kF64);
  const GradcheckResult checked =
      gradcheck_layer(conv, [&] { return conv.forward(few.adj, few.scale, x, f); }, {{"x", x}, {"f", f}},
                      {.max_elements = 100});
  std::printf("%s\n", str(checked).c_str());
  if (!checked) return 1;

  const Inputs all = make_inputs(data, device, DType::kF32);
  Model model(data, Random(0), device);
  Trainer trainer(model, [&] { return model.forward(all); },
                  {{model.parameters(), {.lr = 0.01, .weight_decay = 5e-4}}}, data.y, data.split,
                  {.epochs = 60});
  const TrainSummary result = trainer.fit([](const EpochReport& epoch) {
    if (epoch.epoch % 20 == 0) std::printf("epoch %3d  loss %.4f\n", epoch.epoch, epoch.loss);
  });
  std::printf("test accuracy %.4f\n", result.best.test);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "custom_layer: %s\n", error.what());
  return 2;
}
