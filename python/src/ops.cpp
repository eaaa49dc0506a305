/// The operators of rodeo._core. Checks of shapes and dtypes are those of the C++ functions.

#include "arrays.h"
#include "ops/attention.h"
#include "ops/convert.h"
#include "ops/dot_attention.h"
#include "ops/edge_dropout.h"
#include "ops/edge_softmax.h"
#include "ops/edge_sum.h"
#include "ops/gatv2_attention.h"
#include "ops/gcn_norm.h"
#include "ops/scale_rows.h"
#include "ops/sddmm.h"
#include "ops/segment_reduce.h"
#include "ops/spmm.h"

namespace rodeo::python {
namespace {

/// The result of work() as an array like `like`, which was read as the first operand, or in `out`, which must
/// share no memory with the operands. `expected`: its shape, where that is known.
template <class Work>
nb::object compute(std::string_view op, nb::handle like, nb::handle out,
                   std::initializer_list<std::pair<const char*, const Tensor&>> operands,
                   const std::optional<Shape>& expected, Work&& work) {
  Results results(op, like, operands.begin()->second, out);
  for (const auto& [what, operand] : operands) results.apart_from(what, operand);
  if (expected) results.expect(*expected);
  const Tensor y = results.run(work);
  return results.give(y);
}

/// The gradient of f(x), like `like`. Runs forward again.
template <class Function>
nb::object gradient(std::string_view op, nb::handle like, const Tensor& x, nb::handle dy, Function&& f) {
  const Tensor dout = read(op, "dy", dy);
  return compute(op, like, {}, {{"", x}}, std::nullopt, [&] {
    const Variable v(x, true);
    f(v).backward(dout);
    return v.grad();
  });
}

SpmmOptions spmm_options(const std::string& reduce, const std::string& algorithm) {
  return {.algorithm = parse_spmm_algorithm(algorithm), .reduce = parse_reduce(reduce)};
}

nb::object spmm_op(const PyGraph& graph, nb::handle x, nb::handle weight, const std::string& reduce,
                   const std::string& algorithm, nb::handle out) {
  const Tensor dense = read("spmm", "x", x), w = read("spmm", "weight", weight);
  const SpmmOptions options = spmm_options(reduce, algorithm);
  std::optional<Shape> expected;
  if (dense.defined() && dense.rank() >= 2 && options.reduce != Reduce::kMean)
    expected = dense.rank() == 3 ? Shape{graph.adj.rows(), dense.dim(1), dense.dim(2)}
                                 : Shape{graph.adj.rows(), dense.dim(1)};
  return compute("spmm", x, out, {{"x", dense}, {"weight", w}}, expected, [&] {
    if (w.defined()) return spmm(graph.adj, w, dense, options);
    if (dense.rank() != 3) return spmm(graph.adj, dense, options);
    // Without weights, heads are columns.
    const std::int64_t heads = dense.dim(1), n = dense.dim(2);
    return spmm(graph.adj, dense.reshape({dense.dim(0), heads * n}), options)
        .reshape({graph.adj.rows(), heads, n});
  });
}

nb::object give_or_none(Results& results, const Tensor& tensor) {
  return tensor.defined() ? results.give(tensor) : nb::none();
}

/// (dweight, dx) of any reduction; runs forward again.
nb::tuple spmm_gradients(const PyGraph& graph, nb::handle x, nb::handle weight, nb::handle dy,
                         const std::string& reduce, bool needs_weight, bool needs_x) {
  const Tensor dense = read("spmm", "x", x), w = read("spmm", "weight", weight),
               dout = read("spmm", "dy", dy);
  const SpmmOptions options = spmm_options(reduce, "auto");
  Results results("spmm", x, dense);
  Tensor dweight, dx;
  results.run([&] {
    const bool columns = !w.defined() && dense.rank() == 3;
    const auto flat = [&](const Tensor& t) {
      return columns ? t.reshape({t.dim(0), t.dim(1) * t.dim(2)}) : t;
    };
    const Variable vx(flat(dense), needs_x);
    const Variable vw = w.defined() ? Variable(w, needs_weight) : Variable();
    const Variable y = w.defined() ? spmm(graph.adj, vw, vx, options) : spmm(graph.adj, vx, options);
    y.backward(flat(dout));
    if (needs_x) dx = vx.grad().reshape(dense.shape());
    if (w.defined() && needs_weight) dweight = vw.grad();
    return 0;
  });
  return nb::make_tuple(give_or_none(results, dweight), give_or_none(results, dx));
}

SddmmOp sddmm_op_of(const std::string& text) {
  if (text == "dot") return SddmmOp::kDot;
  if (text == "add") return SddmmOp::kAdd;
  if (text == "mul") return SddmmOp::kMul;
  fail("[sddmm] op must be dot, add or mul, got ", text);
}

nb::object sddmm_op(const PyGraph& graph, nb::handle b1, nb::handle b2, const std::string& op,
                    nb::handle weight, nb::handle out) {
  const Tensor left = read("sddmm", "b1", b1), right = read("sddmm", "b2", b2),
               w = read("sddmm", "weight", weight);
  const SddmmOp kind = sddmm_op_of(op);
  std::optional<Shape> expected;
  if (left.defined() && left.rank() == 2 && kind == SddmmOp::kDot) expected = {graph.adj.num_edges()};
  return compute("sddmm", b1, out, {{"b1", left}, {"b2", right}, {"weight", w}}, expected,
                 [&] { return sddmm(graph.adj, left, right, kind, w); });
}

std::optional<Shape> shape_of(const Tensor& x) {
  return x.defined() ? std::optional(x.shape()) : std::nullopt;
}

nb::object edge_softmax_op(const PyGraph& graph, nb::handle score, nb::handle out) {
  const Tensor s = read("edge_softmax", "score", score);
  return compute("edge_softmax", score, out, {{"score", s}}, shape_of(s),
                 [&] { return edge_softmax(graph.adj, s); });
}

nb::object edge_softmax_gradient(const PyGraph& graph, nb::handle score, nb::handle dy) {
  const Tensor s = read("edge_softmax", "score", score);
  return gradient("edge_softmax", score, s, dy,
                  [&](const Variable& v) { return edge_softmax(graph.adj, v); });
}

/// `transposed`: sums over the edges of each source.
nb::object edge_sum_op(const PyGraph& graph, nb::handle x, bool transposed, nb::handle out) {
  const Tensor values = read("edge_sum", "x", x);
  return compute("edge_sum", x, out, {{"x", values}}, std::nullopt, [&] {
    if (!transposed) return edge_sum(graph.adj, values);
    const Transposed back = transpose(graph.adj);
    return edge_sum(back.adj, values, back.edge_ids);
  });
}

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
  Results results("dot_attention", q, in.of.q);
  const AttentionState state =
      results.run([&] { return dot_attention_forward(graph.adj, in.of, in.options); });
  return nb::make_tuple(results.give(state.y), results.give(state.lse));
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
  Results results("gatv2_attention", l, in.of.l);
  const AttentionState state =
      results.run([&] { return gatv2_attention_forward(graph.adj, in.of, in.options); });
  return nb::make_tuple(results.give(state.y), results.give(state.lse));
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

DType float_dtype(const std::string& name) {
  for (const auto& [dtype, known] : kDtypeNames)
    if (known == name && is_float(dtype)) return dtype;
  fail("[gcn_norm] dtype must be float64, float32, bfloat16 or float16, got ", name);
}

/// (graph with self loops, weight in its edge order or None, scale)
nb::tuple gcn_norm_op(const PyGraph& graph, nb::handle like, nb::handle weight, const std::string& dtype) {
  const Tensor w = read("gcn_norm", "weight", weight);
  const DType wanted = float_dtype(dtype);
  Results results("gcn_norm", like, read("gcn_norm", "like", like));
  PyGraph looped;
  const GcnGraph normal = results.run([&] {
    const GcnGraph g = gcn_norm(graph.adj, w, wanted);
    looped = {g.adj, {}};
    return g;
  });
  return nb::make_tuple(looped, give_or_none(results, normal.weight), results.give(normal.scale));
}

/// y = S (A (S x)) with S = diag(scale): ops/gcn_norm.h.
nb::object propagate_op(const PyGraph& graph, nb::handle scale, nb::handle x, nb::handle weight,
                        nb::handle out) {
  const Tensor s = read("gcn_propagate", "scale", scale), dense = read("gcn_propagate", "x", x),
               w = read("gcn_propagate", "weight", weight);
  return compute("gcn_propagate", x, out, {{"x", dense}, {"scale", s}, {"weight", w}}, shape_of(dense), [&] {
    return propagate(GcnGraph{graph.adj, w, s}, dense);
  });
}

nb::object segment_op(nb::handle x, nb::handle offsets, const std::string& reduce, nb::handle out) {
  const Tensor values = read("segment_reduce", "x", x), bounds = read("segment_reduce", "offsets", offsets);
  const Reduce kind = parse_reduce(reduce);
  return compute("segment_reduce", x, out, {{"x", values}}, std::nullopt,
                 [&] { return segment_reduce(values, bounds.to(DType::kI64), kind); });
}

nb::object segment_gradient(nb::handle x, nb::handle offsets, const std::string& reduce, nb::handle dy) {
  const Tensor values = read("segment_reduce", "x", x), bounds = read("segment_reduce", "offsets", offsets);
  const Reduce kind = parse_reduce(reduce);
  return gradient("segment_reduce", x, values, dy,
                  [&](const Variable& v) { return segment_reduce(v, bounds.to(DType::kI64), kind); });
}

}  // namespace

void bind_ops(nb::module_& m) {
  const auto none = nb::arg("out").none() = nb::none();
  m.def("spmm", spmm_op, nb::arg("graph"), nb::arg("x"), nb::arg("weight").none(), nb::arg("reduce"),
        nb::arg("algorithm"), none);
  m.def("spmm_gradients", spmm_gradients, nb::arg("graph"), nb::arg("x"), nb::arg("weight").none(),
        nb::arg("dy"), nb::arg("reduce"), nb::arg("needs_weight"), nb::arg("needs_x"));
  m.def("sddmm", sddmm_op, nb::arg("graph"), nb::arg("b1"), nb::arg("b2"), nb::arg("op"),
        nb::arg("weight").none(), none);
  m.def("edge_softmax", edge_softmax_op, nb::arg("graph"), nb::arg("score"), none);
  m.def("edge_softmax_gradient", edge_softmax_gradient, nb::arg("graph"), nb::arg("score"), nb::arg("dy"));
  m.def("edge_sum", edge_sum_op, nb::arg("graph"), nb::arg("x"), nb::arg("transposed"), none);
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
  m.def("gcn_norm", gcn_norm_op, nb::arg("graph"), nb::arg("like"), nb::arg("weight").none(),
        nb::arg("dtype"));
  m.def("gcn_propagate", propagate_op, nb::arg("graph"), nb::arg("scale"), nb::arg("x"),
        nb::arg("weight").none(), none);
  m.def("segment_reduce", segment_op, nb::arg("x"), nb::arg("offsets"), nb::arg("reduce"), none);
  m.def("segment_reduce_gradient", segment_gradient, nb::arg("x"), nb::arg("offsets"), nb::arg("reduce"),
        nb::arg("dy"));
}

}  // namespace rodeo::python
