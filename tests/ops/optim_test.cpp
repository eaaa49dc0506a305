#include "ops/optim.h"

#include <cmath>
#include <functional>

#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

class OpsOptim : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsOptim);

constexpr int kParameters = 40;  // more than one launch takes

/// One element in float64. `lr` is that of its parameter.
struct Element {
  double p, m = 0, v = 0;
};

Shape shape_of(int parameter) {
  return {parameter == 3 ? 0 : parameter == 5 ? 5000 : 37};
}
DType dtype_of(int parameter) {
  return parameter % 2 == 0 ? DType::kF32 : DType::kF64;
}

/// Compares five steps for parameters of both dtypes with formula(element, g, update, t, lr), where t counts
/// from 1. One parameter is empty, and one joins late. make(p, g, slot) makes an update.
template <class Update, class Step>
void check_steps(Device device, const std::function<Update(const Tensor&, const Tensor&, int)>& make,
                 Step step_all,
                 const std::function<void(Element&, double, const Update&, int, double)>& formula) {
  struct Expected {
    std::vector<Element> elements;
    std::vector<double> g;
    int steps = 0;
  };
  std::vector<Update> all;
  std::vector<Expected> expected;
  std::vector<double> lr;
  for (int i = 0; i < kParameters; ++i) {
    all.push_back(make(random_tensor(shape_of(i), dtype_of(i), device, i),
                       random_tensor(shape_of(i), dtype_of(i), device, 100 + i), i));
    lr.push_back(0.02 + 0.001 * i);
    Expected e;
    for (const double p : doubles(all.back().p)) e.elements.push_back({p});
    e.g = doubles(all.back().g);
    expected.push_back(e);
  }
  const Tensor rates = Tensor::from(lr, device),
               steps = Tensor::zeros({kParameters + 1}, DType::kI64, device);
  for (int step = 1; step <= 5; ++step) {
    std::vector<Update> updates = all;
    if (step < 3) updates.erase(updates.begin() + 7);
    step_all(updates, steps, rates);
    for (const Update& u : updates) {
      Expected& e = expected[static_cast<std::size_t>(u.slot)];
      ++e.steps;
      for (std::size_t k = 0; k < e.elements.size(); ++k)
        formula(e.elements[k], e.g[k], u, e.steps, lr[static_cast<std::size_t>(u.slot)]);
    }
  }
  const auto taken = steps.to_vector<std::int64_t>();
  for (int i = 0; i < kParameters; ++i) {
    const double eps = 50 * epsilon(all[i].p.dtype());
    std::vector<double> want;
    for (const Element& element : expected[i].elements) want.push_back(element.p);
    EXPECT_TRUE(near(all[i].p, want, eps, eps)) << i;
    EXPECT_EQ(doubles(all[i].g), expected[i].g) << "g is not modified";
    EXPECT_EQ(taken[i], i == 7 ? 3 : 5);
  }
  EXPECT_EQ(taken.back(), 5);
  step_all({}, steps, rates);
  EXPECT_EQ(steps.to_vector<std::int64_t>().back(), 6);
}

Tensor zeros_like(const Tensor& x) {
  return Tensor::zeros(x.shape(), x.dtype(), x.device());
}

void check_adam(Device device, bool decoupled) {
  check_steps<AdamUpdate>(
      device,
      [&](const Tensor& p, const Tensor& g, int i) -> AdamUpdate {
        return {p,
                g,
                zeros_like(p),
                zeros_like(p),
                {.beta1 = 0.9 - 0.01 * i, .weight_decay = 0.1, .decoupled = decoupled},
                i};
      },
      adam_step,
      [&](Element& e, double g, const AdamUpdate& u, int t, double lr) {
        const AdamOptions& o = u.options;
        if (decoupled)
          e.p *= 1 - lr * o.weight_decay;
        else
          g += o.weight_decay * e.p;
        e.m = o.beta1 * e.m + (1 - o.beta1) * g;
        e.v = o.beta2 * e.v + (1 - o.beta2) * g * g;
        e.p -=
            lr * (e.m / (1 - std::pow(o.beta1, t))) / (std::sqrt(e.v / (1 - std::pow(o.beta2, t))) + o.eps);
      });
}

TEST_P(OpsOptim, AdamStepsAsPublished) {
  check_adam(device(), /*decoupled=*/false);
}

TEST_P(OpsOptim, AdamWDecaysApartFromTheGradient) {
  check_adam(device(), /*decoupled=*/true);
}

// Rows that a batch does not read have no gradient: they wait, and t counts on.
TEST_P(OpsOptim, LazyAdamLeavesElementsWithoutAGradient) {
  for (const DType dtype : {DType::kF32, DType::kF64})
    for (const bool decoupled : {false, true}) {
      const auto update = [&](bool lazy) -> AdamUpdate {
        const Tensor p = random_tensor({6, 700}, dtype, device(), 1);
        return {p,
                zeros_like(p),
                zeros_like(p),
                zeros_like(p),
                {.weight_decay = 0.1, .decoupled = decoupled, .lazy = lazy},
                lazy ? 1 : 0};
      };
      const AdamUpdate dense = update(false), lazy = update(true);
      const Tensor steps = Tensor::zeros({3}, DType::kI64, device()),
                   rates = Tensor::from(std::vector<double>{0.1, 0.1}, device());
      const auto step = [&](std::int64_t begin, std::int64_t end, int seed) {  // rows with a gradient
        for (const AdamUpdate& u : {dense, lazy}) {
          u.g.fill(0);
          u.g.slice(begin, end).copy_from(random_tensor({end - begin, 700}, dtype, device(), seed));
        }
        adam_step({dense, lazy}, steps, rates);
      };
      step(0, 6, 2);
      for (const auto& [a, b] : {std::pair{dense.p, lazy.p}, {dense.m, lazy.m}, {dense.v, lazy.v}})
        EXPECT_TRUE(same_bits(a.to(kCpu), b.to(kCpu)));
      const Tensor p = lazy.p.clone(), m = lazy.m.clone(), v = lazy.v.clone();
      step(2, 3, 3);
      for (const auto& [after, before] : {std::pair{lazy.p, p}, {lazy.m, m}, {lazy.v, v}}) {
        EXPECT_TRUE(same_bits(after.slice(0, 2).to(kCpu), before.slice(0, 2).to(kCpu)));
        EXPECT_TRUE(same_bits(after.slice(3, 6).to(kCpu), before.slice(3, 6).to(kCpu)));
      }
      EXPECT_TRUE(same_bits(lazy.p.slice(2, 3).to(kCpu), dense.p.slice(2, 3).to(kCpu)));
      EXPECT_FALSE(same_bits(lazy.p.slice(0, 2).to(kCpu), dense.p.slice(0, 2).to(kCpu)));
    }
}

// A gradient of some rows, of one and of none: the bits of one with zeros elsewhere.
TEST_P(OpsOptim, AdamTakesGradientsOfRows) {
  for (const DType dtype : {DType::kF32, DType::kF64})
    for (const std::int64_t width : {1, 7, 300}) {
      const auto update = [&](std::int64_t slot) -> AdamUpdate {
        const Tensor p = random_tensor({50, width}, dtype, device(), 1);
        return {p, zeros_like(p), zeros_like(p), zeros_like(p), {.weight_decay = 0.1, .lazy = true}, slot};
      };
      AdamUpdate dense = update(0), by_row = update(1);
      const AdamUpdate other = update(2);  // in the same launch
      const Tensor steps = Tensor::zeros({4}, DType::kI64, device()),
                   rates = Tensor::from(std::vector<double>{0.1, 0.1, 0.1}, device());
      for (const std::vector<std::int64_t>& rows : {std::vector<std::int64_t>{3, 49, 0, 20}, {}, {20}}) {
        by_row.rows = Tensor::from(rows, device());
        by_row.g = random_tensor({by_row.rows.dim(0), width}, dtype, device(), 5);
        if (by_row.g.numel() > 1) by_row.g.slice(0, 1).fill(0);  // an element without a gradient keeps all
        dense.g.fill(0);
        for (std::size_t i = 0; i < rows.size(); ++i)
          dense.g.slice(rows[i], rows[i] + 1).copy_from(by_row.g.slice(i, i + 1));
        adam_step({by_row, other, dense}, steps, rates);
        for (const auto& [a, b] : {std::pair{dense.p, by_row.p}, {dense.m, by_row.m}, {dense.v, by_row.v}})
          EXPECT_TRUE(same_bits(a.to(kCpu), b.to(kCpu))) << width;
      }
      EXPECT_EQ(steps.to_vector<std::int64_t>(), (std::vector<std::int64_t>{3, 3, 3, 3}));
    }
}

// torch.optim.SGD: its buffer begins as the first gradient, which zeros times momentum plus g are, too.
TEST_P(OpsOptim, SgdStepsAsPyTorch) {
  check_steps<SgdUpdate>(
      device(),
      [](const Tensor& p, const Tensor& g, int i) -> SgdUpdate {
        const double momentum = i % 4 == 0 ? 0 : 0.9 - 0.01 * i;
        return {p,
                g,
                momentum > 0 ? zeros_like(p) : Tensor(),
                {.momentum = momentum, .nesterov = i % 3 == 0 && momentum > 0, .weight_decay = 0.01 * i},
                i};
      },
      sgd_step,
      [](Element& e, double g, const SgdUpdate& u, int t, double lr) {
        const SgdOptions& o = u.options;
        g += o.weight_decay * e.p;
        if (o.momentum > 0) {
          e.m = t == 1 ? g : o.momentum * e.m + g;
          g = o.nesterov ? g + o.momentum * e.m : e.m;
        }
        e.p -= lr * g;
      });
}

TEST_P(OpsOptim, Errors) {
  const Tensor p = Tensor::zeros({2}, DType::kF32, device()),
               three = Tensor::zeros({3}, DType::kF32, device());
  const Tensor lr = Tensor::zeros({1}, DType::kF64, device()),
               steps = Tensor::zeros({2}, DType::kI64, device());
  EXPECT_ERROR(adam_step({{p, three, p, p, {}, 0}}, steps, lr), "[adam_step] g must be [2], got [3]");
  EXPECT_ERROR(adam_step({{p, p, p, p, {}, 1}}, steps, lr), "[adam_step] slot must be in [0, 1), got 1");
  EXPECT_ERROR(adam_step({{p, p, p, p, {}, 0}, {p, p, p, p, {}, 0}}, steps, lr),
               "[adam_step] slot 0 is there twice");
  EXPECT_ERROR(adam_step({}, steps.slice(0, 1), lr),
               "[adam_step] steps must be i64 [2]: one entry more than lr has");
  EXPECT_ERROR(sgd_step({{p, three, {}, {}, 0}}, steps, lr), "[sgd_step] g must be [2], got [3]");
  EXPECT_ERROR(sgd_step({{p, p, three, {}, 0}}, steps, lr), "[sgd_step] m must be [2], got [3]");
  EXPECT_ERROR(sgd_step({{p, p, {}, {.momentum = 0.5}, 0}}, steps, lr),
               "[sgd_step] momentum 0.5 needs m, the tensor that keeps it");
  const Tensor table = Tensor::zeros({3, 2}, DType::kF32, device()), g = table.slice(0, 1),
               row = Tensor::zeros({1}, DType::kI64, device());
  EXPECT_ERROR(adam_step({{table, g, table, table, {}, 0, row}}, steps, lr),
               "[adam_step] rows are for options.lazy");
  EXPECT_ERROR(adam_step({{table, table, table, table, {.lazy = true}, 0, row}}, steps, lr),
               "[adam_step] g must be [1, 2], got [3, 2]");
  EXPECT_ERROR(adam_step({{table, g, table, table, {.lazy = true}, 0, p}}, steps, lr),
               str("[adam_step] rows must be i64 [k] on ", device(), ", got f32 [2] on ", device()));
  if (!device().is_cuda()) {
    EXPECT_ERROR(adam_step({{table, g, table, table, {.lazy = true}, 0, Tensor::full({1}, 3, DType::kI64)}},
                           steps, lr),
                 "[adam_step] rows[0] = 3 is outside [0, 3)");
  }
}

}  // namespace
}  // namespace rodeo::test
