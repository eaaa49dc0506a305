/// The operators of rodeo._core. Checks of shapes and dtypes are those of the C++ functions.

#include "arrays.h"
#include "compute.h"
#include "ops/convert.h"
#include "ops/edge_softmax.h"
#include "ops/edge_sum.h"
#include "ops/gcn_norm.h"
#include "ops/sddmm.h"
#include "ops/segment_reduce.h"
#include "ops/spmm.h"

namespace rodeo::python {
namespace {

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

/// (dweight, dx) of any reduction; runs forward again.
nb::tuple spmm_gradients(const PyGraph& graph, nb::handle x, nb::handle weight, nb::handle dy,
                         const std::string& reduce, bool needs_weight, bool needs_x) {
  const Tensor dense = read("spmm", "x", x), w = read("spmm", "weight", weight),
               dout = read("spmm", "dy", dy);
  const SpmmOptions options = spmm_options(reduce, "auto");
  return compute_all("spmm", x, dense, std::nullopt, [&] {
    const bool columns = !w.defined() && dense.rank() == 3;
    const auto flat = [&](const Tensor& t) {
      return columns ? t.reshape({t.dim(0), t.dim(1) * t.dim(2)}) : t;
    };
    const Variable vx(flat(dense), needs_x);
    const Variable vw = w.defined() ? Variable(w, needs_weight) : Variable();
    const Variable y = w.defined() ? spmm(graph.adj, vw, vx, options) : spmm(graph.adj, vx, options);
    y.backward(flat(dout));
    return std::tuple(w.defined() && needs_weight ? vw.grad() : Tensor(),
                      needs_x ? vx.grad().reshape(dense.shape()) : Tensor());
  });
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

DType float_dtype(const std::string& name) {
  for (const auto& [dtype, known] : kDtypeNames)
    if (known == name && is_float(dtype)) return dtype;
  fail("[gcn_norm] dtype must be float64, float32, bfloat16 or float16, got ", name);
}

/// (graph with self loops, weight in its edge order or None, scale)
nb::tuple gcn_norm_op(const PyGraph& graph, nb::handle like, nb::handle weight, const std::string& dtype) {
  const Tensor w = read("gcn_norm", "weight", weight);
  const DType wanted = float_dtype(dtype);
  PyGraph looped;
  const nb::tuple values = compute_all("gcn_norm", like, read("gcn_norm", "like", like), std::nullopt, [&] {
    const GcnGraph normal = gcn_norm(graph.adj, w, wanted);
    looped.adj = normal.adj;
    return std::tuple(normal.weight, normal.scale);
  });
  return nb::make_tuple(looped, values[0], values[1]);
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
  using namespace nb::literals;
  const auto none = "out"_a.none() = nb::none();
  m.def("spmm", spmm_op, "graph"_a, "x"_a, "weight"_a.none(), "reduce"_a, "algorithm"_a, none);
  m.def("spmm_gradients", spmm_gradients, "graph"_a, "x"_a, "weight"_a.none(), "dy"_a, "reduce"_a,
        "needs_weight"_a, "needs_x"_a);
  m.def("sddmm", sddmm_op, "graph"_a, "b1"_a, "b2"_a, "op"_a, "weight"_a.none(), none);
  m.def("edge_softmax", edge_softmax_op, "graph"_a, "score"_a, none);
  m.def("edge_softmax_gradient", edge_softmax_gradient, "graph"_a, "score"_a, "dy"_a);
  m.def("edge_sum", edge_sum_op, "graph"_a, "x"_a, "transposed"_a, none);
  m.def("gcn_norm", gcn_norm_op, "graph"_a, "like"_a, "weight"_a.none(), "dtype"_a);
  m.def("gcn_propagate", propagate_op, "graph"_a, "scale"_a, "x"_a, "weight"_a.none(), none);
  m.def("segment_reduce", segment_op, "x"_a, "offsets"_a, "reduce"_a, none);
  m.def("segment_reduce_gradient", segment_gradient, "x"_a, "offsets"_a, "reduce"_a, "dy"_a);
}

}  // namespace rodeo::python
