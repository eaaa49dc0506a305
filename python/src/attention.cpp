/// The attention operators of rodeo._core. Checks of shapes and dtypes are those of the C++ functions.

#include "ops/attention.h"
#include "compute.h"
#include "ops/dot_attention.h"
#include "ops/edge_dropout.h"
#include "ops/gatv2_attention.h"

namespace rodeo::python {
namespace {

// The operators, which begin their error texts.
constexpr const char *kDropout = "edge_dropout", *kGat = "gat_attention", *kSelf = "gat_self_attention",
                     *kDot = "dot_attention", *kGatv2 = "gatv2_attention";

/// `seed`: None, or int64 [1] on the device: the mask is a function of its value when the kernel runs, so
/// that a replayed CUDA graph draws new masks.
AttentionOptions attention_options(const char* op, const Tensor& x, double slope, double dropout,
                                   const Tensor& seed) {
  AttentionOptions options{.negative_slope = slope, .dropout = dropout};
  if (dropout <= 0) return options;
  check(seed.defined() && seed.dtype() == DType::kI64 && seed.numel() == 1, "[", op,
        "] with dropout, seed must be an int64 array of one element on the device of the operands");
  check(seed.device() == x.device(), "[", op, "] seed must be on ", x.device(), ", got ", seed.device());
  options.key.step = seed.data<std::int64_t>();
  return options;
}

/// The mask of the attention kernels, for weights [edges, heads].
nb::object edge_dropout_op(const PyGraph& graph, nb::handle x, double dropout, nb::handle seed) {
  const Tensor values = read(kDropout, "x", x), drawn = read(kDropout, "seed", seed);
  const AttentionOptions options = attention_options(kDropout, values, 0, dropout, drawn);
  return compute(kDropout, x, {}, {{"x", values}}, std::nullopt,
                 [&] { return edge_dropout(graph.adj, values, dropout, options.key); });
}

struct AttentionInputs {
  Tensor s, t, x, seed;
  AttentionOptions options;
  AttentionInputs(nb::handle s, nb::handle t, nb::handle x, double slope, double dropout, nb::handle seed)
      : s(read(kGat, "s", s)), t(read(kGat, "t", t)), x(read(kGat, "x", x)), seed(read(kGat, "seed", seed)) {
    check(this->x.defined() && this->s.defined() && this->t.defined(),
          "[gat_attention] s, t and x must be arrays");
    options = attention_options(kGat, this->x, slope, dropout, this->seed);
  }
  std::optional<Shape> expected(const PyGraph& graph) const {
    if (x.rank() != 3) return std::nullopt;
    return Shape{graph.adj.rows(), x.dim(1), x.dim(2)};
  }
};

nb::object gat_attention_op(const PyGraph& graph, nb::handle s, nb::handle t, nb::handle x, double slope,
                            double dropout, nb::handle seed, nb::handle out) {
  const AttentionInputs in(s, t, x, slope, dropout, seed);
  return compute(kGat, x, out, {{"x", in.x}, {"s", in.s}, {"t", in.t}}, in.expected(graph),
                 [&] { return gat_attention(graph.adj, in.s, in.t, in.x, in.options); });
}

nb::tuple gat_attention_saved(const PyGraph& graph, nb::handle s, nb::handle t, nb::handle x, double slope,
                              double dropout, nb::handle seed) {
  const AttentionInputs in(s, t, x, slope, dropout, seed);
  return compute_all(kGat, x, in.x, in.expected(graph), [&] {
    const auto [y, positive, stat] = gat_attention_forward(graph.adj, in.s, in.t, in.x, in.options);
    return std::tuple(y, positive, stat);
  });
}

nb::tuple gat_attention_gradients_op(const PyGraph& graph, nb::handle s, nb::handle t, nb::handle x,
                                     nb::handle y, nb::handle positive, nb::handle stat, nb::handle dy,
                                     double slope, double dropout, nb::handle seed) {
  const AttentionInputs in(s, t, x, slope, dropout, seed);
  const GatAttentionState state{read(kGat, "y", y), read(kGat, "positive", positive),
                                read(kGat, "stat", stat)};
  const Tensor dout = read(kGat, "dy", dy);
  return compute_all(kGat, x, in.x, in.expected(graph), [&] {
    const auto d = gat_attention_gradients(graph.adj, in.s, in.t, in.x, state, dout, in.options);
    return std::tuple(d.ds, d.dt, d.dx);
  });
}

/// Inputs of the attention of a GAT layer. The vectors may be [1, heads, k], as PyTorch Geometric has them.
struct SelfAttentionInputs {
  Tensor x, dst, src, seed;
  AttentionOptions options;
  SelfAttentionInputs(nb::handle x, nb::handle a_dst, nb::handle a_src, double slope, double dropout,
                      nb::handle seed)
      : x(read(kSelf, "x", x)),
        dst(vectors("a_dst", a_dst)),
        src(vectors("a_src", a_src)),
        seed(read(kSelf, "seed", seed)) {
    check(this->x.defined() && this->x.rank() == 3, "[gat_self_attention] x must be [nodes, heads, k]");
    options = attention_options(kSelf, this->x, slope, dropout, this->seed);
  }

 private:
  static Tensor vectors(const char* name, nb::handle array) {
    const Tensor a = read(kSelf, name, array);
    check(a.defined(), "[gat_self_attention] ", name, " must be an array [heads, k]");
    return a.rank() == 3 && a.dim(0) == 1 ? a.reshape({a.dim(1), a.dim(2)}) : a;
  }
};

nb::tuple gat_self_attention_saved(const PyGraph& graph, nb::handle x, nb::handle a_dst, nb::handle a_src,
                                   double slope, double dropout, nb::handle seed) {
  const SelfAttentionInputs in(x, a_dst, a_src, slope, dropout, seed);
  return compute_all(kSelf, x, in.x, std::nullopt, [&] {
    const auto [s, t, of] = gat_self_attention_forward(graph.adj, in.x, in.dst, in.src, in.options);
    return std::tuple(of.y, of.positive, of.stat, s, t);
  });
}

nb::tuple gat_self_attention_gradients_op(const PyGraph& graph, nb::handle x, nb::handle a_dst,
                                          nb::handle a_src, nb::handle y, nb::handle positive,
                                          nb::handle stat, nb::handle s, nb::handle t, nb::handle dy,
                                          double slope, double dropout, nb::handle seed) {
  const SelfAttentionInputs in(x, a_dst, a_src, slope, dropout, seed);
  const GatSelfAttentionState state{
      read(kSelf, "s", s),
      read(kSelf, "t", t),
      {read(kSelf, "y", y), read(kSelf, "positive", positive), read(kSelf, "stat", stat)}};
  const Tensor dout = read(kSelf, "dy", dy);
  return compute_all(kSelf, x, in.x, std::nullopt, [&] {
    const auto d = gat_self_attention_gradients(graph.adj, in.x, in.dst, in.src, state, dout, in.options);
    return std::tuple(d.dx, d.d_dst, d.d_src);
  });
}

struct DotInputs {
  DotAttentionOperands of;
  Tensor seed;
  AttentionOptions options;
  DotInputs(nb::handle q, nb::handle key, nb::handle v, nb::handle bias, nb::handle edge, double scale,
            double dropout, nb::handle seed)
      : of{read(kDot, "q", q), read(kDot, "key", key), read(kDot, "v", v), read(kDot, "bias", bias),
           read(kDot, "edge", edge)},
        seed(read(kDot, "seed", seed)) {
    check(of.q.defined() && of.key.defined() && of.v.defined(),
          "[dot_attention] q, key and v must be arrays");
    options = attention_options(kDot, of.q, 0, dropout, this->seed);
    options.scale = scale;
  }
};

nb::tuple dot_attention_saved(const PyGraph& graph, nb::handle q, nb::handle key, nb::handle v,
                              nb::handle bias, nb::handle edge, double scale, double dropout,
                              nb::handle seed) {
  const DotInputs in(q, key, v, bias, edge, scale, dropout, seed);
  return compute_all(kDot, q, in.of.q, std::nullopt, [&] {
    const auto [y, lse] = dot_attention_forward(graph.adj, in.of, in.options);
    return std::tuple(y, lse);
  });
}

/// None for the gradients of operands that are None.
nb::tuple dot_attention_gradients_op(const PyGraph& graph, nb::handle q, nb::handle key, nb::handle v,
                                     nb::handle bias, nb::handle edge, nb::handle y, nb::handle lse,
                                     nb::handle dy, double scale, double dropout, nb::handle seed) {
  const DotInputs in(q, key, v, bias, edge, scale, dropout, seed);
  const AttentionState state{read(kDot, "y", y), read(kDot, "lse", lse)};
  const Tensor dout = read(kDot, "dy", dy);
  return compute_all(kDot, q, in.of.q, std::nullopt, [&] {
    const auto d = dot_attention_gradients(graph.adj, in.of, state, dout, in.options);
    return std::tuple(d.q, d.key, d.v, d.bias, d.edge);
  });
}

struct Gatv2Inputs {
  Gatv2AttentionOperands of;
  Tensor seed;
  AttentionOptions options;
  Gatv2Inputs(nb::handle l, nb::handle r, nb::handle a, nb::handle edge, double slope, double dropout,
              nb::handle seed)
      : of{read(kGatv2, "l", l), read(kGatv2, "r", r), read(kGatv2, "a", a), read(kGatv2, "edge", edge)},
        seed(read(kGatv2, "seed", seed)) {
    check(of.l.defined() && of.r.defined() && of.a.defined(), "[gatv2_attention] l, r and a must be arrays");
    options = attention_options(kGatv2, of.l, slope, dropout, this->seed);
  }
};

nb::tuple gatv2_attention_saved(const PyGraph& graph, nb::handle l, nb::handle r, nb::handle a,
                                nb::handle edge, double slope, double dropout, nb::handle seed) {
  const Gatv2Inputs in(l, r, a, edge, slope, dropout, seed);
  return compute_all(kGatv2, l, in.of.l, std::nullopt, [&] {
    const auto [y, lse] = gatv2_attention_forward(graph.adj, in.of, in.options);
    return std::tuple(y, lse);
  });
}

nb::tuple gatv2_attention_gradients_op(const PyGraph& graph, nb::handle l, nb::handle r, nb::handle a,
                                       nb::handle edge, nb::handle y, nb::handle lse, nb::handle dy,
                                       double slope, double dropout, nb::handle seed) {
  const Gatv2Inputs in(l, r, a, edge, slope, dropout, seed);
  const AttentionState state{read(kGatv2, "y", y), read(kGatv2, "lse", lse)};
  const Tensor dout = read(kGatv2, "dy", dy);
  return compute_all(kGatv2, l, in.of.l, std::nullopt, [&] {
    const auto d = gatv2_attention_gradients(graph.adj, in.of, state, dout, in.options);
    return std::tuple(d.l, d.r, d.a, d.edge);
  });
}

}  // namespace

void bind_attention(nb::module_& m) {
  using namespace nb::literals;
  const auto none = "out"_a.none() = nb::none();
  m.def("edge_dropout", edge_dropout_op, "graph"_a, "x"_a, "dropout"_a, "seed"_a.none());
  m.def("gat_attention", gat_attention_op, "graph"_a, "s"_a, "t"_a, "x"_a, "negative_slope"_a, "dropout"_a,
        "seed"_a.none(), none);
  m.def("gat_attention_saved", gat_attention_saved, "graph"_a, "s"_a, "t"_a, "x"_a, "negative_slope"_a,
        "dropout"_a, "seed"_a.none());
  m.def("gat_attention_gradients", gat_attention_gradients_op, "graph"_a, "s"_a, "t"_a, "x"_a, "y"_a,
        "positive"_a, "stat"_a, "dy"_a, "negative_slope"_a, "dropout"_a, "seed"_a.none());
  m.def("gat_self_attention_saved", gat_self_attention_saved, "graph"_a, "x"_a, "a_dst"_a, "a_src"_a,
        "negative_slope"_a, "dropout"_a, "seed"_a.none());
  m.def("gat_self_attention_gradients", gat_self_attention_gradients_op, "graph"_a, "x"_a, "a_dst"_a,
        "a_src"_a, "y"_a, "positive"_a, "stat"_a, "s"_a, "t"_a, "dy"_a, "negative_slope"_a, "dropout"_a,
        "seed"_a.none());
  m.def("dot_attention_saved", dot_attention_saved, "graph"_a, "q"_a, "key"_a, "v"_a, "bias"_a.none(),
        "edge"_a.none(), "scale"_a, "dropout"_a, "seed"_a.none());
  m.def("dot_attention_gradients", dot_attention_gradients_op, "graph"_a, "q"_a, "key"_a, "v"_a,
        "bias"_a.none(), "edge"_a.none(), "y"_a, "lse"_a, "dy"_a, "scale"_a, "dropout"_a, "seed"_a.none());
  m.def("gatv2_attention_saved", gatv2_attention_saved, "graph"_a, "l"_a, "r"_a, "a"_a, "edge"_a.none(),
        "negative_slope"_a, "dropout"_a, "seed"_a.none());
  m.def("gatv2_attention_gradients", gatv2_attention_gradients_op, "graph"_a, "l"_a, "r"_a, "a"_a,
        "edge"_a.none(), "y"_a, "lse"_a, "dy"_a, "negative_slope"_a, "dropout"_a, "seed"_a.none());
}

}  // namespace rodeo::python
