// Checks the custom operator and its gradient on every available device.
#include <cstdio>

#include "edge_distance.h"
#include "rodeo/core/gradcheck.h"
#include "rodeo/datasets/subgraph.h"
#include "rodeo/datasets/synthetic.h"
#include "rodeo/ops/dense.h"

using namespace rodeo;

int main() try {
  const Dataset data = synthesize(synthetic_preset("cora"));
  const Dataset part = induced_subgraph(data, neighbourhood(data, 40));
  std::vector<Device> devices{kCpu};
#if WITH_KERNEL
  for (int i = 0; i < cuda_device_count(); ++i) devices.push_back(cuda_device(i));
#endif
  Tensor expected;  // computed on the CPU
  for (const Device device : devices) {
    const Adjacency adj = to_graph(part, device).adj;
    const Variable x(uniform({part.num_nodes, 5}, -1, 1, {.seed = 1}, DType::kF64, device), true);
    if (!expected.defined()) expected = edge_distance(adj, x.value());
    const GradcheckResult result =
        gradcheck([&](const std::vector<Variable>& in) { return edge_distance(adj, in[0]); }, {x},
                  {.names = {"x"}, .expected = {expected}});
    std::printf("%s\n%s\n", str(device).c_str(), str(result).c_str());
    if (!result) return 1;
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "custom_op: %s\n", error.what());
  return 2;
}
