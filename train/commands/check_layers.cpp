#include "train/commands/check_layers.h"

#include "datasets/subgraph.h"
#include "layers/gradcheck_layer.h"
#include "ops/dense.h"
#include "ops/gcn_norm.h"

namespace rodeo {

LayerTask make_layer_task(const Dataset& dataset, Device device, const CheckLayerOptions& options) {
  check(options.nodes >= 1 && options.out >= 1, "[check_layer] nodes and out must be at least 1, got ",
        options.nodes, " and ", options.out);
  check(dataset.num_nodes >= 1, "[check_layer] ", dataset.name, " has no nodes");
  const Dataset part = induced_subgraph(dataset, neighbourhood(dataset, options.nodes, options.seed));
  LayerTask task;
  task.graph = to_graph(part, device);
  if (task.graph.weight.defined()) task.graph.weight = task.graph.weight.to(DType::kF64);
  constexpr std::int64_t kFeatures = 16;
  const Tensor features = part.has_features() ? dense_features(part) : Tensor();
  const Shape shape{part.num_nodes, features.defined() ? features.dim(1) : kFeatures};
  Tensor x = uniform(shape, -0.5, 0.5, {options.seed, 2}, DType::kF64, device);
  if (features.defined()) x = add(x, normalize_rows(features.to(DType::kF64).to(device)));
  task.x = Variable(x, /*requires_grad=*/true);
  task.out = options.out;
  task.seed = options.seed;
  return task;
}

GradcheckResult check_layer(const LayerEntry& layer, const LayerTask& task,
                            const CheckLayerOptions& options) {
  const BoundLayer bound = layer.make(task, Random(options.seed));
  return gradcheck_layer(*bound.module, bound.forward, {{"x", task.x}},
                         {.seed = options.seed, .max_elements = options.max_elements});
}

}  // namespace rodeo
