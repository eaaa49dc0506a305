/// Helpers for tests of layers and models.
#pragma once

#include "layers/module.h"
#include "ops/convert.h"
#include "ops/gcn_norm.h"
#include "tests/support/gradcheck.h"

namespace rodeo::test {

/// 12 nodes, directed, with self loops and repeated edges; f64.
inline GcnGraph small_gcn_graph(Device device) {
  std::vector<std::int64_t> row, col;
  for (std::int64_t i = 0; i < 12; ++i) {
    row.insert(row.end(), {i, i});
    col.insert(col.end(), {(i * 5 + 1) % 12, (i * i) % 12});
  }
  return gcn_norm(coo_to_csr(Tensor::from(row, device), Tensor::from(col, device), 12, 12).adj, {},
                  DType::kF64);
}

/// Gradcheck of the input and of all parameters of a layer.
template <class Forward>
testing::AssertionResult layer_gradients_ok(const Module& layer, Forward forward, const Variable& x) {
  std::vector<Variable> inputs = layer.parameters();
  inputs.push_back(x);
  return gradients_ok([&](const auto&) { return forward(x); }, inputs);
}

}  // namespace rodeo::test
