#include <cmath>
#include <vector>

#include "core/variable.h"
#include "ops/attention.h"
#include "ops/convert.h"
#include "tests/support/devices.h"

namespace rodeo::test {
namespace {

class OpsAttentionState : public OnDevice {};

struct Inputs {
  Adjacency adj;
  Tensor s, t, x, dy;
};

Inputs make_inputs(Device device, DType dtype = DType::kF32) {
  constexpr std::int64_t kNodes = 40, kHeads = 2, kWidth = 8;
  std::vector<std::int32_t> row, col;
  for (std::int32_t e = 0; e < 300; ++e) row.push_back(e * 7 % 39), col.push_back(e * 11 % 40);
  const auto wave = [&](const Shape& shape, double step) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < shape.numel(); ++i)
      values.push_back(std::sin(step * static_cast<double>(i)));
    return Tensor::from(values, shape, device).to(dtype);
  };
  const Adjacency adj = coo_to_csr(Tensor::from(row, device), Tensor::from(col, device), kNodes, kNodes).adj;
  return {adj, wave({kNodes, kHeads}, 0.7), wave({kNodes, kHeads}, 1.3), wave({kNodes, kHeads, kWidth}, 0.3),
          wave({kNodes, kHeads, kWidth}, 0.9)};
}

std::vector<double> values_of(const Tensor& t) {
  return t.to(DType::kF64).to_vector<double>();
}

TEST_P(OpsAttentionState, HasTheBitsOfTheRecordedOperator) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16}) {
    for (const double dropout : {0.0, 0.4}) {
      const Inputs in = make_inputs(device(), dtype);
      const AttentionOptions options{.dropout = dropout, .key = {.seed = 3}};
      const Variable s(in.s, true), t(in.t, true), x(in.x, true);
      const Variable y = gat_attention(in.adj, s, t, x, options);
      y.backward(in.dy);
      const GatAttentionState state = gat_attention_forward(in.adj, in.s, in.t, in.x, options);
      EXPECT_EQ(values_of(state.y), values_of(y.value()));
      const auto d = gat_attention_gradients(in.adj, in.s, in.t, in.x, state, in.dy, options);
      EXPECT_EQ(values_of(d.ds), values_of(s.grad()));
      EXPECT_EQ(values_of(d.dt), values_of(t.grad()));
      EXPECT_EQ(values_of(d.dx), values_of(x.grad()));
    }
  }
}

TEST_P(OpsAttentionState, WithoutEdgesEverythingIsZero) {
  const Inputs in = make_inputs(device());
  const Tensor none = Tensor::zeros({0}, DType::kI32, device());
  const Adjacency adj = coo_to_csr(none, none, 40, 40).adj;
  const GatAttentionState state = gat_attention_forward(adj, in.s, in.t, in.x);
  const auto d = gat_attention_gradients(adj, in.s, in.t, in.x, state, in.dy);
  for (const Tensor& zero : {state.y, state.positive, state.stat, d.ds, d.dt, d.dx})
    for (const double value : values_of(zero)) EXPECT_EQ(value, 0);
}

TEST_P(OpsAttentionState, RefusesAStateOfAnotherShape) {
  const Inputs in = make_inputs(device());
  GatAttentionState state = gat_attention_forward(in.adj, in.s, in.t, in.x);
  state.stat = Tensor::zeros({40, 2, 2}, DType::kF32, device());
  EXPECT_ERROR(gat_attention_gradients(in.adj, in.s, in.t, in.x, state, in.dy),
               "[gat_attention] stat must be [40, 2, 3], got [40, 2, 2]");
  state = {};
  EXPECT_NE(error_of([&] {
              gat_attention_gradients(in.adj, in.s, in.t, in.x, state, in.dy);
            }).find("[gat_attention] y"),
            std::string::npos);
}

RODEO_ON_ALL_DEVICES(OpsAttentionState);

}  // namespace
}  // namespace rodeo::test
