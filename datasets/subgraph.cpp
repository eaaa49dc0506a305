#include "datasets/subgraph.h"

#include <algorithm>
#include <vector>

#include "core/random.h"
#include "datasets/subset.h"

namespace rodeo {
namespace {
using Ids = std::vector<std::int64_t>;
}  // namespace

Tensor neighbourhood(const Dataset& dataset, std::int64_t nodes, std::uint64_t seed) {
  check(nodes >= 1, "[neighbourhood] nodes must be at least 1, got ", nodes);
  const Adjacency adj = to_graph(dataset, kCpu).adj;
  const std::int64_t all = adj.rows(), wanted = std::min(nodes, all);
  const std::int64_t* row_ptr = adj.csr().row_ptr.data<std::int64_t>();
  const std::int32_t* col = adj.csr().col.data<std::int32_t>();
  std::vector<bool> seen(static_cast<std::size_t>(all));
  Ids queue;
  const auto visit = [&](std::int64_t node) {
    if (seen[node] || static_cast<std::int64_t>(queue.size()) == wanted) return;
    seen[node] = true;
    queue.push_back(node);
  };
  std::uint64_t draw = 0;
  for (std::size_t next = 0; static_cast<std::int64_t>(queue.size()) < wanted;) {
    if (next == queue.size()) {  // the first unseen node from a random place on
      auto node = static_cast<std::int64_t>(random_word(seed, 0, draw++)) % all;
      while (seen[node]) node = (node + 1) % all;
      visit(node);
      continue;
    }
    const std::int64_t node = queue[next++];
    for (std::int64_t e = row_ptr[node]; e < row_ptr[node + 1]; ++e) visit(col[e]);
  }
  std::sort(queue.begin(), queue.end());
  return Tensor::from(queue);
}

Dataset induced_subgraph(const Dataset& dataset, const Tensor& nodes) {
  check(nodes.defined() && nodes.dtype() == DType::kI64 && nodes.rank() == 1,
        "[induced_subgraph] nodes must be i64 [k]");
  const Ids ids = nodes.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    check(ids[i] >= 0 && ids[i] < dataset.num_nodes, "[induced_subgraph] nodes[", i, "] is ", ids[i],
          ", outside [0, ", dataset.num_nodes, ")");
    check(i == 0 || ids[i - 1] < ids[i], "[induced_subgraph] nodes must be ascending, got ", ids[i],
          " after ", ids[i - 1]);
  }
  return select_nodes(dataset, nodes.to(kCpu));
}

}  // namespace rodeo
