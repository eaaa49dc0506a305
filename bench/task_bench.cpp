/// Times the operators of losses, metrics, normalisation, readouts and link prediction, forward and with
/// backward. Each result and gradient is first compared with the same operator in f64 on the CPU.
///
///   task_bench [FILTER]   the operators whose name contains FILTER
///
/// GB/s counts each operand and result of the forward pass once. On the CPU all sizes are a sixteenth.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "bench/compare.h"
#include "bench/timing.h"
#include "core/error.h"
#include "datasets/synthetic.h"
#include "ops/bce.h"
#include "ops/combine.h"
#include "ops/dense.h"
#include "ops/edge_sum.h"
#include "ops/gelu.h"
#include "ops/graph_batch.h"
#include "ops/loss.h"
#include "ops/macro_f1.h"
#include "ops/negative_edges.h"
#include "ops/norm.h"
#include "ops/pairs.h"
#include "ops/ranking.h"
#include "ops/regression_loss.h"
#include "ops/segment_reduce.h"
#include "ops/soft_cross_entropy.h"

namespace rodeo::bench {
namespace {

using Ids = std::vector<std::int64_t>;

/// Where and in which dtype a case runs. Operands are the same numbers everywhere.
struct Place {
  Device device;
  DType dtype = DType::kF32;

  Variable values(const Shape& shape, std::uint64_t stream) const {
    const Tensor x = uniform(shape, -1, 1, {7, stream}, DType::kF32, kCpu);
    return Variable(x.to(dtype).to(device), /*requires_grad=*/true);
  }
  Tensor ids(std::int64_t count, std::int64_t end, std::uint64_t stream) const {
    Ids all;
    for (std::int64_t i = 0; i < count; ++i)
      all.push_back(static_cast<std::int64_t>(philox(stream, 9, static_cast<std::uint64_t>(i)).word[0]) %
                    end);
    return Tensor::from(all, device);
  }
  Tensor counted(std::int64_t count) const {
    Ids all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return Tensor::from(all, device);
  }
};

/// An operator on its operands. `inputs` are those with a gradient.
struct Work {
  std::function<Variable()> run;
  std::vector<Variable> inputs = {};
};

struct Case {
  std::string name, shape;
  double bytes;  // of f32
  std::function<Work(const Place&)> make;
};

std::string text(std::int64_t m, std::int64_t n) {
  return fmt::format("{} x {}", m, n);
}

void add_dense(std::vector<Case>& cases, std::int64_t m) {
  constexpr std::int64_t kWidth = 128;
  const std::string shape = text(m, kWidth);
  const double array = 4.0 * static_cast<double>(m * kWidth);
  const auto add = [&](const char* name, double arrays,
                       std::function<Variable(const std::vector<Variable>&)> f, std::size_t operands = 1) {
    cases.push_back({name, shape, arrays * array, [=](const Place& at) {
                       std::vector<Variable> x;
                       for (std::size_t i = 0; i < operands; ++i) x.push_back(at.values({m, kWidth}, i + 1));
                       return Work{[=] { return f(x); }, x};
                     }});
  };
  const auto affine = [&](const char* name, auto f) {
    cases.push_back({name, shape, 2 * array, [=](const Place& at) {
                       const Variable x = at.values({m, kWidth}, 1), weight = at.values({kWidth}, 2),
                                      bias = at.values({kWidth}, 3);
                       return Work{[=] { return f(x, weight, bias); }, {x, weight, bias}};
                     }});
  };
  affine("batch_norm", [](const auto& x, const auto& w, const auto& b) { return batch_norm(x, w, b, {}); });
  affine("layer_norm", [](const auto& x, const auto& w, const auto& b) { return layer_norm(x, w, b); });
  add("l2_normalize", 2, [](const auto& x) { return l2_normalize(x[0]); });
  add("gelu", 2, [](const auto& x) { return gelu(x[0]); });
  add(
      "concat_columns", 4,
      [](const auto& x) {
        return concat_columns({x[0], x[1]});
      },
      2);
  add(
      "maximum", 3, [](const auto& x) { return maximum(x[0], x[1]); }, 2);
}

void add_losses(std::vector<Case>& cases, std::int64_t m) {
  constexpr std::int64_t kClasses = 40;
  const std::string shape = text(m, kClasses);
  const double array = 4.0 * static_cast<double>(m * kClasses);
  const auto add = [&](const char* name, double bytes, auto f) {
    cases.push_back({name, shape, bytes, [=](const Place& at) {
                       const Variable x = at.values({m, kClasses}, 1);
                       return Work{f(at, x), {x}};
                     }});
  };
  add("cross_entropy", array, [m](const Place& at, const Variable& x) {
    return
        [x, label = at.ids(m, kClasses, 1), every = at.counted(m)] { return cross_entropy(x, label, every); };
  });
  add("soft_cross_entropy", 2 * array, [m](const Place& at, const Variable& x) {
    const Tensor target =
        soft_targets(at.ids(m, kClasses, 1), at.counted(m), kClasses, {.label_smoothing = 0.1}).to(at.dtype);
    return [x, target] { return soft_cross_entropy(x, target); };
  });
  add("bce_with_logits", 1.25 * array, [m](const Place& at, const Variable& x) {
    const Tensor target = at.ids(m * kClasses, 2, 1).to(DType::kU8).reshape({m, kClasses});
    return [x, target, every = at.counted(m)] { return bce_with_logits(x, target, every); };
  });
  for (const bool squared : {true, false})
    add(squared ? "mse_loss" : "l1_loss", 2 * array, [=](const Place& at, const Variable& x) {
      const Tensor target = at.values({m, kClasses}, 2).value();
      return [=] { return squared ? mse_loss(x, target) : l1_loss(x, target); };
    });
  const auto metric = [&](const char* name, const std::string& size, double bytes, auto f) {
    cases.push_back({name, size, bytes, [=](const Place& at) { return Work{f(at)}; }});
  };
  metric("macro_f1", shape, array, [m](const Place& at) {
    return [x = at.values({m, kClasses}, 1).value(), label = at.ids(m, kClasses, 1), every = at.counted(m)] {
      return Variable(macro_f1(x, label, {every}));
    };
  });
  metric("ranking_metrics", fmt::format("{} + {}", m, m), 8.0 * static_cast<double>(m), [m](const Place& at) {
    return [p = at.values({m}, 1).value(), n = at.values({m}, 2).value()] {
      return Variable(ranking_metrics(p, n));
    };
  });
}

void add_graphs(std::vector<Case>& cases, std::int64_t nodes, std::int64_t edges) {
  constexpr std::int64_t kWidth = 64;
  const auto pairs = [&](const char* name, bool dot) {
    cases.push_back(
        {name, fmt::format("{} pairs, {} columns", edges, kWidth),
         4.0 * static_cast<double>(edges * ((dot ? 2 : 3) * kWidth + 4)), [=](const Place& at) {
           const Variable a = at.values({nodes, kWidth}, 1);
           const Tensor src = at.ids(edges, nodes, 2), dst = at.ids(edges, nodes, 3);
           return Work{[=] { return dot ? pair_dot(a, a, src, dst) : pair_mul(a, a, src, dst); }, {a}};
         }});
  };
  pairs("pair_dot", true);
  pairs("pair_mul", false);
  for (const auto& [name, reduce] : {std::pair{"segment_reduce sum", Reduce::kSum},
                                     {"segment_reduce mean", Reduce::kMean},
                                     {"segment_reduce max", Reduce::kMax}}) {
    constexpr std::int64_t kRows = 20;  // of a segment
    cases.push_back(
        {name, fmt::format("{}, segments of {}", text(nodes, kWidth), kRows),
         4.0 * static_cast<double>(nodes * kWidth), [=, reduce = reduce](const Place& at) {
           const Variable x = at.values({nodes, kWidth}, 1);
           Ids offsets;
           for (std::int64_t i = 0; i < nodes; i += kRows) offsets.push_back(i);
           offsets.push_back(nodes);
           return Work{[=, all = Tensor::from(offsets, at.device)] { return segment_reduce(x, all, reduce); },
                       {x}};
         }});
  }
  const Dataset graph = synthesize({.nodes = nodes, .edges = edges, .features = 1, .classes = 8});
  const auto adj = [graph](const Place& at) { return to_graph(graph, at.device).adj; };
  cases.push_back({"edge_sum", text(edges, kWidth), 4.0 * static_cast<double>((edges + nodes) * kWidth),
                   [=](const Place& at) {
                     const Adjacency rows = adj(at);
                     const Variable x = at.values({rows.num_edges(), kWidth}, 1);
                     return Work{[=] { return edge_sum(rows, x); }, {x}};
                   }});
  cases.push_back({"negative_edges", fmt::format("{} pairs", edges), 16.0 * static_cast<double>(edges),
                   [=](const Place& at) {
                     const Adjacency rows = adj(at);
                     return Work{[=] {
                       const NodePairs drawn = negative_edges(rows, edges, {3, 4});
                       return Variable(concat_rows(std::vector{drawn.src, drawn.dst}));
                     }};
                   }});
  // A set of graphs of 20 nodes in a ring, with both directions; a batch of 128 of them.
  constexpr std::int64_t kNodes = 20, kBatch = 128;
  cases.push_back({"graph_batch", fmt::format("{} of {} rings of {}", kBatch, nodes / kNodes, kNodes),
                   static_cast<double>(kBatch * kNodes) * 48, [=](const Place& at) {
                     Ids src, dst, ptr{0}, chosen;
                     for (std::int64_t g = 0; g < nodes / kNodes; ++g, ptr.push_back(g * kNodes))
                       for (std::int64_t i = 0; i < kNodes; ++i)
                         for (const std::int64_t next : {(i + 1) % kNodes, (i + kNodes - 1) % kNodes})
                           src.push_back(g * kNodes + i), dst.push_back(g * kNodes + next);
                     for (std::int64_t g = 0; g < kBatch; ++g) chosen.push_back(g * 37 % (nodes / kNodes));
                     const std::int64_t all = nodes / kNodes * kNodes;
                     const Adjacency set =
                         coo_to_csr(Tensor::from(dst, at.device), Tensor::from(src, at.device), all, all).adj;
                     return Work{[=, set = GraphSet(set, Tensor::from(ptr, at.device))] {
                       const GraphBatch batch = set.batch(chosen);
                       return Variable(concat_rows(std::vector{batch.nodes, batch.edge_ids, batch.offsets}));
                     }};
                   }});
}

/// Runs forward and backward once. dy: undefined for a scalar.
Variable step(const Work& work, const Tensor& dy) {
  for (Variable x : work.inputs) x.zero_grad();
  const Variable y = work.run();
  if (!work.inputs.empty()) y.backward(dy);
  return y;
}

/// A gradient for the result of `work`, the same numbers everywhere.
Tensor gradient_for(const Work& work, const Place& at) {
  const NoGrad no_grad;
  const Shape shape = work.inputs.empty() ? Shape{} : work.run().shape();
  return shape.rank() == 0 ? Tensor() : at.values(shape, 99).value();
}

/// Throws Error where the result or a gradient differs from that in f64 on the CPU.
void verify(const Case& c, const Work& work, const Tensor& dy) {
  constexpr double kTolerance = 1e-4;  // sums of 170,000 terms in f32
  const Place exact{kCpu, DType::kF64};
  const Work reference = c.make(exact);
  const Tensor y = step(work, dy).value(), want = step(reference, gradient_for(reference, exact)).value();
  const double off = largest_difference(y, want);
  check(off < kTolerance, "[task_bench] ", c.name, " differs from f64 by ", off);
  for (std::size_t i = 0; i < work.inputs.size(); ++i) {
    const double gradient = largest_difference(work.inputs[i].grad(), reference.inputs[i].grad());
    check(gradient < kTolerance, "[task_bench] gradient ", i, " of ", c.name, " differs from f64 by ",
          gradient);
  }
}

void measure(const Case& c, Device device) {
  constexpr int kRepeats = 20;
  const Place place{device, DType::kF32};
  const Work work = c.make(place);
  const Tensor dy = gradient_for(work, place);
  verify(c, work, dy);
  double forward = 0;
  {
    const NoGrad no_grad;
    forward = median_milliseconds(device, kRepeats, work.run);
  }
  const std::string both =
      work.inputs.empty()
          ? "-"
          : fmt::format("{:.4f}", median_milliseconds(device, kRepeats, [&] { step(work, dy); }));
  fmt::print("{:<20} {:<34} {:>10.4f} {:>14} {:>9.1f}\n", c.name, c.shape, forward, both,
             c.bytes / forward / 1e6);
}

}  // namespace
}  // namespace rodeo::bench

int main(int argc, char** argv) {
  using namespace rodeo;
  const std::string_view filter = argc > 1 ? argv[1] : "";
  const Device device = parse_device("auto");
  const std::int64_t share = device.is_cuda() ? 1 : 16;
  std::vector<bench::Case> cases;
  bench::add_dense(cases, 169343 / share);
  bench::add_losses(cases, 169343 / share);
  bench::add_graphs(cases, 169343 / share, 1166243 / share);
  fmt::print("{:<20} {:<34} {:>10} {:>14} {:>9}\n", "operator, f32", "size", "forward ms", "with backward",
             "GB/s");
  for (const bench::Case& c : cases)
    if (c.name.find(filter) != std::string::npos) bench::measure(c, device);
}
