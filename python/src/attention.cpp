/// The attention operators of rodeo._core. Checks of shapes and dtypes are those of the C++ functions.

#include "ops/attention.h"
#include "compute.h"
#include "ops/dot_attention.h"
#include "ops/edge_dropout.h"
#include "ops/gatv2_attention.h"

namespace rodeo::python {
namespace {

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
  const Tensor values = read("edge_dropout", "x", x), drawn = read("edge_dropout", "seed", seed);
  const AttentionOptions options = attention_options("edge_dropout", values, 0, dropout, drawn);
  Results results("edge_dropout", x, values);
  const Tensor y = results.run([&] { return edge_dropout(graph.adj, values, dropout, options.key); });
  return results.give(y);
}

struct AttentionInputs {
  Tensor s, t, x, seed;
  AttentionOptions options;
  AttentionInputs(nb::handle s, nb::handle t, nb::handle x, double slope, double dropout, nb::handle seed)
      : s(read("gat_attention", "s", s)),
        t(read("gat_attention", "t", t)),
        x(read("gat_attention", "x", x)),
        seed(read("gat_attention", "seed", seed)) {
    check(this->x.defined() && this->s.defined() && this->t.defined(),
          "[gat_attention] s, t and x must be arrays");
    options = attention_options("gat_attention", this->x, slope, dropout, this->seed);
  }
  std::optional<Shape> expected(const PyGraph& graph) const {
    if (x.rank() != 3) return std::nullopt;
    return Shape{graph.adj.rows(), x.dim(1), x.dim(2)};
  }
};

nb::object gat_attention_op(const PyGraph& graph, nb::handle s, nb::handle t, nb::handle x, double slope,
                            double dropout, nb::handle seed, nb::handle out) {
  const AttentionInputs in(s, t, x, slope, dropout, seed);
  return compute("gat_attention", x, out, {{"x", in.x}, {"s", in.s}, {"t", in.t}}, in.expected(graph),
                 [&] { return gat_attention(graph.adj, in.s, in.t, in.x, in.options); });
}

nb::tuple gat_attention_saved(const PyGraph& graph, nb::handle s, nb::handle t, nb::handle x, double slope,
                              double dropout, nb::handle seed) {
  const AttentionInputs in(s, t, x, slope, dropout, seed);
  Results results("gat_attention", x, in.x);
  if (const auto shape = in.expected(graph)) results.expect(*shape);
  const GatAttentionState state =
      results.run([&] { return gat_attention_forward(graph.adj, in.s, in.t, in.x, in.options); });
  return nb::make_tuple(results.give(state.y), results.give(state.positive), results.give(state.stat));
}

nb::tuple gat_attention_gradients_op(const PyGraph& graph, nb::handle s, nb::handle t, nb::handle x,
                                     nb::handle y, nb::handle positive, nb::handle stat, nb::handle dy,
                                     double slope, double dropout, nb::handle seed) {
  const AttentionInputs in(s, t, x, slope, dropout, seed);
  const GatAttentionState state{read("gat_attention", "y", y), read("gat_attention", "positive", positive),
                                read("gat_attention", "stat", stat)};
  const Tensor dout = read("gat_attention", "dy", dy);
  Results results("gat_attention", x, in.x);
  if (const auto shape = in.expected(graph)) results.expect(*shape);
  const auto d = results.run(
      [&] { return gat_attention_gradients(graph.adj, in.s, in.t, in.x, state, dout, in.options); });
  return nb::make_tuple(results.give(d.ds), results.give(d.dt), results.give(d.dx));
}

/// Inputs of the attention of a GAT layer. The vectors may be [1, heads, k], as PyTorch Geometric has them.
struct SelfAttentionInputs {
  Tensor x, dst, src, seed;
  AttentionOptions options;
  SelfAttentionInputs(nb::handle x, nb::handle a_dst, nb::handle a_src, double slope, double dropout,
                      nb::handle seed)
      : x(read("gat_self_attention", "x", x)),
        dst(vectors("a_dst", a_dst)),
        src(vectors("a_src", a_src)),
        seed(read("gat_self_attention", "seed", seed)) {
    check(this->x.defined() && this->x.rank() == 3, "[gat_self_attention] x must be [nodes, heads, k]");
    options = attention_options("gat_self_attention", this->x, slope, dropout, this->seed);
  }

 private:
  static Tensor vectors(const char* name, nb::handle array) {
    const Tensor a = read("gat_self_attention", name, array);
    check(a.defined(), "[gat_self_attention] ", name, " must be an array [heads, k]");
    return a.rank() == 3 && a.dim(0) == 1 ? a.reshape({a.dim(1), a.dim(2)}) : a;
  }
};

nb::tuple gat_self_attention_saved(const PyGraph& graph, nb::handle x, nb::handle a_dst, nb::handle a_src,
                                   double slope, double dropout, nb::handle seed) {
  const SelfAttentionInputs in(x, a_dst, a_src, slope, dropout, seed);
  Results results("gat_self_attention", x, in.x);
  const GatSelfAttentionState state =
      results.run([&] { return gat_self_attention_forward(graph.adj, in.x, in.dst, in.src, in.options); });
  const auto& [y, positive, stat] = state.attention;
  return nb::make_tuple(results.give(y), results.give(positive), results.give(stat), results.give(state.s),
                        results.give(state.t));
}

nb::tuple gat_self_attention_gradients_op(const PyGraph& graph, nb::handle x, nb::handle a_dst,
                                          nb::handle a_src, nb::handle y, nb::handle positive,
                                          nb::handle stat, nb::handle s, nb::handle t, nb::handle dy,
                                          double slope, double dropout, nb::handle seed) {
  constexpr const char* op = "gat_self_attention";
  const SelfAttentionInputs in(x, a_dst, a_src, slope, dropout, seed);
  const GatSelfAttentionState state{
      read(op, "s", s),
      read(op, "t", t),
      {read(op, "y", y), read(op, "positive", positive), read(op, "stat", stat)}};
  const Tensor dout = read(op, "dy", dy);
  Results results(op, x, in.x);
  const auto d = results.run(
      [&] { return gat_self_attention_gradients(graph.adj, in.x, in.dst, in.src, state, dout, in.options); });
  return nb::make_tuple(results.give(d.dx), results.give(d.d_dst), results.give(d.d_src));
}

/// What forward() computes and keeps, as arrays like `like`, which was read as the first operand.
template <class Forward>
nb::tuple saved(const char* op, nb::handle like, const Tensor& first, Forward&& forward) {
  Results results(op, like, first);
  const AttentionState state = results.run(forward);
  return nb::make_tuple(results.give(state.y), results.give(state.lse));
}

struct DotInputs {
  DotAttentionOperands of;
  Tensor seed;
  AttentionOptions options;
  DotInputs(nb::handle q, nb::handle key, nb::handle v, nb::handle bias, nb::handle edge, double scale,
            double dropout, nb::handle seed)
      : of{read("dot_attention", "q", q), read("dot_attention", "key", key), read("dot_attention", "v", v),
           read("dot_attention", "bias", bias), read("dot_attention", "edge", edge)},
        seed(read("dot_attention", "seed", seed)) {
    check(of.q.defined() && of.key.defined() && of.v.defined(),
          "[dot_attention] q, key and v must be arrays");
    options = attention_options("dot_attention", of.q, 0, dropout, this->seed);
    options.scale = scale;
  }
};

nb::tuple dot_attention_saved(const PyGraph& graph, nb::handle q, nb::handle key, nb::handle v,
                              nb::handle bias, nb::handle edge, double scale, double dropout,
                              nb::handle seed) {
  const DotInputs in(q, key, v, bias, edge, scale, dropout, seed);
  return saved("dot_attention", q, in.of.q,
               [&] { return dot_attention_forward(graph.adj, in.of, in.options); });
}

/// None for the gradients of operands that are None.
nb::tuple dot_attention_gradients_op(const PyGraph& graph, nb::handle q, nb::handle key, nb::handle v,
                                     nb::handle bias, nb::handle edge, nb::handle y, nb::handle lse,
                                     nb::handle dy, double scale, double dropout, nb::handle seed) {
  constexpr const char* op = "dot_attention";
  const DotInputs in(q, key, v, bias, edge, scale, dropout, seed);
  const AttentionState state{read(op, "y", y), read(op, "lse", lse)};
  const Tensor dout = read(op, "dy", dy);
  Results results(op, q, in.of.q);
  const DotAttentionOperands d =
      results.run([&] { return dot_attention_gradients(graph.adj, in.of, state, dout, in.options); });
  return nb::make_tuple(results.give(d.q), results.give(d.key), results.give(d.v),
                        give_or_none(results, d.bias), give_or_none(results, d.edge));
}

struct Gatv2Inputs {
  Gatv2AttentionOperands of;
  Tensor seed;
  AttentionOptions options;
  Gatv2Inputs(nb::handle l, nb::handle r, nb::handle a, nb::handle edge, double slope, double dropout,
              nb::handle seed)
      : of{read("gatv2_attention", "l", l), read("gatv2_attention", "r", r), read("gatv2_attention", "a", a),
           read("gatv2_attention", "edge", edge)},
        seed(read("gatv2_attention", "seed", seed)) {
    check(of.l.defined() && of.r.defined() && of.a.defined(), "[gatv2_attention] l, r and a must be arrays");
    options = attention_options("gatv2_attention", of.l, slope, dropout, this->seed);
  }
};

nb::tuple gatv2_attention_saved(const PyGraph& graph, nb::handle l, nb::handle r, nb::handle a,
                                nb::handle edge, double slope, double dropout, nb::handle seed) {
  const Gatv2Inputs in(l, r, a, edge, slope, dropout, seed);
  return saved("gatv2_attention", l, in.of.l,
               [&] { return gatv2_attention_forward(graph.adj, in.of, in.options); });
}

nb::tuple gatv2_attention_gradients_op(const PyGraph& graph, nb::handle l, nb::handle r, nb::handle a,
                                       nb::handle edge, nb::handle y, nb::handle lse, nb::handle dy,
                                       double slope, double dropout, nb::handle seed) {
  constexpr const char* op = "gatv2_attention";
  const Gatv2Inputs in(l, r, a, edge, slope, dropout, seed);
  const AttentionState state{read(op, "y", y), read(op, "lse", lse)};
  const Tensor dout = read(op, "dy", dy);
  Results results(op, l, in.of.l);
  const Gatv2AttentionOperands d =
      results.run([&] { return gatv2_attention_gradients(graph.adj, in.of, state, dout, in.options); });
  return nb::make_tuple(results.give(d.l), results.give(d.r), results.give(d.a),
                        give_or_none(results, d.edge));
}

}  // namespace

void bind_attention(nb::module_& m) {
  const auto none = nb::arg("out").none() = nb::none();
  m.def("edge_dropout", edge_dropout_op, nb::arg("graph"), nb::arg("x"), nb::arg("dropout"),
        nb::arg("seed").none());
  m.def("gat_attention", gat_attention_op, nb::arg("graph"), nb::arg("s"), nb::arg("t"), nb::arg("x"),
        nb::arg("negative_slope"), nb::arg("dropout"), nb::arg("seed").none(), none);
  m.def("gat_attention_saved", gat_attention_saved, nb::arg("graph"), nb::arg("s"), nb::arg("t"),
        nb::arg("x"), nb::arg("negative_slope"), nb::arg("dropout"), nb::arg("seed").none());
  m.def("gat_attention_gradients", gat_attention_gradients_op, nb::arg("graph"), nb::arg("s"), nb::arg("t"),
        nb::arg("x"), nb::arg("y"), nb::arg("positive"), nb::arg("stat"), nb::arg("dy"),
        nb::arg("negative_slope"), nb::arg("dropout"), nb::arg("seed").none());
  m.def("gat_self_attention_saved", gat_self_attention_saved, nb::arg("graph"), nb::arg("x"),
        nb::arg("a_dst"), nb::arg("a_src"), nb::arg("negative_slope"), nb::arg("dropout"),
        nb::arg("seed").none());
  m.def("gat_self_attention_gradients", gat_self_attention_gradients_op, nb::arg("graph"), nb::arg("x"),
        nb::arg("a_dst"), nb::arg("a_src"), nb::arg("y"), nb::arg("positive"), nb::arg("stat"), nb::arg("s"),
        nb::arg("t"), nb::arg("dy"), nb::arg("negative_slope"), nb::arg("dropout"), nb::arg("seed").none());
  m.def("dot_attention_saved", dot_attention_saved, nb::arg("graph"), nb::arg("q"), nb::arg("key"),
        nb::arg("v"), nb::arg("bias").none(), nb::arg("edge").none(), nb::arg("scale"), nb::arg("dropout"),
        nb::arg("seed").none());
  m.def("dot_attention_gradients", dot_attention_gradients_op, nb::arg("graph"), nb::arg("q"), nb::arg("key"),
        nb::arg("v"), nb::arg("bias").none(), nb::arg("edge").none(), nb::arg("y"), nb::arg("lse"),
        nb::arg("dy"), nb::arg("scale"), nb::arg("dropout"), nb::arg("seed").none());
  m.def("gatv2_attention_saved", gatv2_attention_saved, nb::arg("graph"), nb::arg("l"), nb::arg("r"),
        nb::arg("a"), nb::arg("edge").none(), nb::arg("negative_slope"), nb::arg("dropout"),
        nb::arg("seed").none());
  m.def("gatv2_attention_gradients", gatv2_attention_gradients_op, nb::arg("graph"), nb::arg("l"),
        nb::arg("r"), nb::arg("a"), nb::arg("edge").none(), nb::arg("y"), nb::arg("lse"), nb::arg("dy"),
        nb::arg("negative_slope"), nb::arg("dropout"), nb::arg("seed").none());
}

}  // namespace rodeo::python
