// Results do not depend on where operands and results lie in memory. A compiler makes several versions of a
// loop, e.g. one for arrays that lie within a vector of each other, and all must round alike.
#include "ops/attention.h"
#include "ops/bce.h"
#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/edge_softmax.h"
#include "ops/edge_sum.h"
#include "ops/epilogue.h"
#include "ops/gelu.h"
#include "ops/grad_clip.h"
#include "ops/heads.h"
#include "ops/loss.h"
#include "ops/norm.h"
#include "ops/optim.h"
#include "ops/pairs.h"
#include "ops/pointwise.h"
#include "ops/regression_loss.h"
#include "ops/sage_concat.h"
#include "ops/sddmm.h"
#include "ops/segment_reduce.h"
#include "ops/segment_sum.h"
#include "ops/soft_cross_entropy.h"
#include "ops/spmm.h"
#include "ops/spmv.h"
#include "tests/support/addresses.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

using Results = std::vector<Tensor>;

struct Operands {
  Adjacency graph;
  Tensor x, y, dy;             // [m, n]
  Tensor w, b;                 // [n], of the accumulators' dtype
  Tensor s, t;                 // [m]
  Tensor edge, dedge, weight;  // [edges, n], [edges, n], [edges]
  Tensor label, index;         // i64 [m]

  std::vector<Tensor*> floats() { return {&x, &y, &dy, &w, &b, &s, &t, &edge, &dedge, &weight}; }
  std::int64_t rows() const { return x.dim(0); }
  std::int64_t cols() const { return x.dim(1); }
  Tensor one_head(const Tensor& of) const { return of.reshape({of.dim(0), 1, of.numel() / of.dim(0)}); }
};

/// The value and the gradients of f(variables...), where f's result has the shape of dy, or is a loss.
template <class F, class... Inputs>
Results with_gradients(const Tensor& dy, F&& f, const Inputs&... inputs) {
  const std::vector<Variable> in{Variable(inputs, true)...};
  const Variable out = f(in);
  Results all{out.value()};
  out.backward(out.value().numel() == 1 ? Tensor{} : dy.reshape(out.shape()));
  for (const Variable& v : in) all.push_back(v.grad());
  return all;
}

struct Case {
  const char* name;
  Results (*run)(const Operands& in);
};
using In = const std::vector<Variable>&;

AttentionOptions form(AttentionForm form) {
  return {.dropout = 0.4, .key = {7, 3}, .form = form};
}

const Case kSparse[] = {
    {"spmm",
     [](const Operands& o) {
       return with_gradients(
           o.dy, [&](In v) { return spmm(o.graph, v[0], v[1]); }, o.weight, o.x);
     }},
    {"spmm mean and max",
     [](const Operands& o) {
       return Results{spmm(o.graph, o.x, {.reduce = Reduce::kMean}),
                      spmm(o.graph, o.x, {.reduce = Reduce::kMax})};
     }},
    {"spmv",
     [](const Operands& o) {
       return with_gradients(
           o.s, [&](In v) { return spmv(o.graph, v[0], v[1]); }, o.weight, o.t);
     }},
    {"sddmm dot",
     [](const Operands& o) {
       return with_gradients(
           o.weight, [&](In v) { return sddmm(o.graph, v[0], v[1], SddmmOp::kDot, v[2]); }, o.x, o.y,
           o.weight);
     }},
    {"sddmm mul",
     [](const Operands& o) {
       return with_gradients(
           o.dedge, [&](In v) { return sddmm(o.graph, v[0], v[1], SddmmOp::kMul, v[2]); }, o.x, o.y,
           o.weight);
     }},
    {"edge softmax",
     [](const Operands& o) {
       return with_gradients(
           o.dedge, [&](In v) { return edge_softmax(o.graph, v[0]); }, o.edge);
     }},
    {"edge sum",
     [](const Operands& o) {
       return with_gradients(
           o.dy, [&](In v) { return edge_sum(o.graph, v[0]); }, o.edge);
     }},
    {"segments",
     [](const Operands& o) {
       const auto coo = csr_to_coo(o.graph);
       return Results{segment_reduce(o.edge, o.graph.csr().row_ptr, Reduce::kMean),
                      segment_sum(coo.row, o.weight, o.rows()),
                      coo_spmv(coo.row, coo.col, o.weight, o.t, o.rows())};
     }},
    {"pairs",
     [](const Operands& o) {
       const auto coo = csr_to_coo(o.graph);
       const Tensor src = coo.row.to(DType::kI64), dst = coo.col.to(DType::kI64);
       Results all = with_gradients(
           o.weight, [&](In v) { return pair_dot(v[0], v[1], src, dst); }, o.x, o.y);
       for (const Tensor& t : with_gradients(
                o.dedge, [&](In v) { return pair_mul(v[0], v[1], src, dst); }, o.x, o.y))
         all.push_back(t);
       return all;
     }},
    {"sage concat",
     [](const Operands& o) {
       const Tensor dy = concat_columns({o.dy, o.y});
       return with_gradients(
           dy, [&](In v) { return sage_concat(o.graph, v[0]); }, o.x);
     }},
};

const Case kAttention[] = {
    {"fused attention",
     [](const Operands& o) {
       const auto f = [&](In v) {
         return gat_attention(o.graph, v[0], v[1], v[2], form(AttentionForm::kFused));
       };
       return with_gradients(o.dy, f, o.s.reshape({o.rows(), 1}), o.t.reshape({o.rows(), 1}),
                             o.one_head(o.x));
     }},
    {"composed attention",
     [](const Operands& o) {
       const auto f = [&](In v) {
         return gat_attention(o.graph, v[0], v[1], v[2], form(AttentionForm::kComposed));
       };
       return with_gradients(o.dy, f, o.s.reshape({o.rows(), 1}), o.t.reshape({o.rows(), 1}),
                             o.one_head(o.x));
     }},
    {"self attention",
     [](const Operands& o) {
       const auto f = [&](In v) {
         return gat_self_attention(o.graph, v[0], v[1], v[2], form(AttentionForm::kFused));
       };
       return with_gradients(o.dy, f, o.one_head(o.x), o.w.reshape({1, o.cols()}),
                             o.b.reshape({1, o.cols()}));
     }},
    {"heads",
     [](const Operands& o) {
       const Tensor a = o.w.reshape({1, o.cols()});
       return with_gradients(
           o.s, [&](In v) { return head_dot(v[0], v[1]); }, o.one_head(o.x), a);
     }},
};

const Case kDense[] = {
    {"matmul",
     [](const Operands& o) {
       const Tensor square = matmul(o.dy, o.y, Transpose::kNo, Transpose::kYes);
       return with_gradients(
           square, [](In v) { return matmul(v[0], v[1], Transpose::kNo, Transpose::kYes); }, o.x, o.y);
     }},
    {"elementwise",
     [](const Operands& o) {
       const auto f = [](In v) {
         const Variable sum = linear_combination(0.3, v[0], -1.7, v[1]);
         return mul(add(gelu(sum), sigmoid(v[0])),
                    add(tanh(v[1]), leaky_relu(elu(maximum(v[0], v[1])), 0.2)));
       };
       return with_gradients(o.dy, f, o.x, o.y);
     }},
    {"scale add",
     [](const Operands& o) {
       const Tensor s = Tensor::full({1}, 0.3, o.w.dtype());
       return with_gradients(
           o.dy, [](In v) { return scale_add(v[0], v[1], v[2]); }, s, o.x, o.y);
     }},
    {"bias and row sums",
     [](const Operands& o) {
       return with_gradients(
           o.dy, [](In v) { return add_bias(v[0], v[1]); }, o.x, o.b);
     }},
    {"epilogue",
     [](const Operands& o) {
       Results all;
       for (const Activation activation : {Activation::kRelu, Activation::kElu}) {
         EpilogueOptions options{.activation = activation, .dropout = 0.3, .key = {5, 1}};
         options.pre_scale = exp(o.s).to(o.w.dtype());
         if (activation == Activation::kRelu) options.post_scale = exp(o.t).to(o.w.dtype());
         for (const Tensor& t : with_gradients(
                  o.dy, [&](In v) { return epilogue(v[0], v[1], options); }, o.x, o.b))
           all.push_back(t);
       }
       return all;
     }},
    {"layer norm",
     [](const Operands& o) {
       return with_gradients(
           o.dy, [](In v) { return layer_norm(v[0], v[1], v[2]); }, o.x, o.w, o.b);
     }},
    {"batch norm",
     [](const Operands& o) {
       if (o.rows() == 1) return Results{};
       const RunningStats running{o.w.clone(), o.b.clone()};
       Results all = with_gradients(
           o.dy, [&](In v) { return batch_norm(v[0], v[1], v[2], running); }, o.x, o.w, o.b);
       all.insert(all.end(), {running.mean, running.var});
       return all;
     }},
    {"l2 normalize",
     [](const Operands& o) {
       return with_gradients(
           o.dy, [](In v) { return l2_normalize(v[0]); }, o.x);
     }},
    {"losses",
     [](const Operands& o) {
       const Tensor bits = Tensor::full(o.x.shape(), 1, DType::kU8);
       const Tensor soft =
           soft_targets(o.label, o.index, o.cols(), {.class_weight = {}, .label_smoothing = 0.1});
       Results all;
       const auto add_all = [&](const Results& some) { all.insert(all.end(), some.begin(), some.end()); };
       add_all(with_gradients(
           {}, [&](In v) { return nll_loss(log_softmax(v[0]), o.label, o.index); }, o.x));
       add_all(with_gradients(
           {}, [&](In v) { return cross_entropy(v[0], o.label, o.index); }, o.x));
       add_all(with_gradients(
           {}, [&](In v) { return soft_cross_entropy(v[0], soft.to(o.w.dtype())); }, o.x));
       add_all(with_gradients(
           {}, [&](In v) { return bce_with_logits(v[0], bits, o.index); }, o.x));
       add_all(with_gradients(
           {}, [&](In v) { return mse_loss(v[0], o.y); }, o.x));
       add_all(with_gradients(
           {}, [&](In v) { return l1_loss(v[0], o.y); }, o.x));
       return all;
     }},
};

Results adam(const Operands& o) {
  const Tensor v = o.edge.slice(0, o.rows());
  v.fill(0.25);
  const Tensor steps = Tensor::zeros({2}, DType::kI64), rate = Tensor::full({1}, 0.01, DType::kF64);
  for (int step = 0; step < 2; ++step)
    adam_step({{.p = o.x, .g = o.dy, .m = o.y, .v = v, .options = {.weight_decay = 0.01}}}, steps, rate);
  return {o.x, o.y, v, sum_squares({o.x, o.y})};
}

Operands operands(std::int64_t m, std::int64_t n, DType dtype, std::uint64_t seed = 0) {
  std::vector<std::int64_t> row, col;
  for (std::int64_t e = 0; e < 3 * m; ++e) row.push_back(e / 3), col.push_back(e * 5 % m);
  Operands o;
  o.graph = coo_to_csr(Tensor::from(row), Tensor::from(col), m, m).adj;
  const DType sums = dtype == DType::kF64 ? dtype : DType::kF32;
  const std::int64_t edges = o.graph.num_edges();
  const Shape matrix{m, n}, of_edges{edges, n};
  o.x = random_tensor(matrix, dtype, kCpu, seed + 1), o.y = random_tensor(matrix, dtype, kCpu, seed + 2);
  o.dy = random_tensor(matrix, dtype, kCpu, seed + 3), o.w = random_tensor({n}, sums, kCpu, seed + 4);
  o.b = random_tensor({n}, sums, kCpu, seed + 5), o.s = random_tensor({m}, dtype, kCpu, seed + 6);
  o.t = random_tensor({m}, dtype, kCpu, seed + 7), o.edge = random_tensor(of_edges, dtype, kCpu, seed + 8);
  o.dedge = random_tensor(of_edges, dtype, kCpu, seed + 9),
  o.weight = random_tensor({edges}, dtype, kCpu, seed + 10);
  o.label = Tensor::zeros({m}, DType::kI64);
  std::vector<std::int64_t> all(static_cast<std::size_t>(m));
  for (std::int64_t i = 0; i < m; ++i) all[static_cast<std::size_t>(i)] = i;
  o.index = Tensor::from(all);
  return o;
}

/// The operands in a larger allocation, from number `first` on: every two are neighbours once.
Operands placed(Operands o, Packed& memory, std::size_t first) {
  const auto all = o.floats();
  for (std::size_t i = 0; i < all.size(); ++i) {
    Tensor& at = *all[(first + i) % all.size()];
    at = memory.place(at);
  }
  return o;
}

Results kept(const Results& results) {
  Results out;
  for (const Tensor& t : results) out.push_back(t.clone());
  return out;
}

void expect_same(const Results& got, const Results& want, const std::string& what) {
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(same_bits(got[i], want[i])) << what << ", result " << i;
}

void expect_one_result(const Case& of, const Operands& o, DType dtype) {
  const std::string what = str(of.name, " ", dtype, " ", o.x.shape());
  Packed apart(4096);
  const Results want = kept(of.run(placed(o, apart, 0)));
  const std::size_t count = Operands(o).floats().size();
  for (std::size_t shift = 0; shift < 64; shift += size_of(dtype)) {
    Packed memory(shift);
    const Operands in = placed(o, memory, shift / size_of(dtype) % count);
    const UseAllocator use(kCpu, &memory);
    expect_same(of.run(in), want, str(what, ", shifted by ", shift, " bytes"));
  }
}

// Few rows, so that operands lie within one vector of each other, and widths around those of vectors.
void expect_one_result(const Case& of, bool of_16_bits = true) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16}) {
    if (dtype == DType::kBF16 && !of_16_bits) continue;
    for (const std::int64_t m : {1, 3})
      for (const std::int64_t n : {1, 3, 5, 7, 8, 11, 15, 20, 31, 40})
        expect_one_result(of, operands(m, n, dtype), dtype);
  }
}

TEST(OpsAddress, SparseOperatorsDoNotDependOnIt) {
  for (const Case& of : kSparse) expect_one_result(of);
}

TEST(OpsAddress, AttentionDoesNotDependOnIt) {
  for (const Case& of : kAttention) expect_one_result(of);
}

// The kernel sums a row in buffers of its own, which may lie within a vector of the result. Widths: those
// whose buffers do, and that fill a vector.
TEST(OpsAddress, AttentionBesideItsBuffers) {
  const AttentionOptions options = form(AttentionForm::kFused);
  for (std::uint64_t seed = 0; seed < 1000; seed += 20)
    for (const std::int64_t n : {4, 5}) {
      const Operands o = operands(1, n, DType::kF64, seed);
      const Tensor s = o.s.reshape({1, 1}), t = o.t.reshape({1, 1}), x = o.one_head(o.x),
                   dy = o.one_head(o.dy);
      const GatAttentionState state = gat_attention_forward(o.graph, s, t, x, options);
      const auto run = [&] {
        const GatAttentionGradients d = gat_attention_gradients(o.graph, s, t, x, state, dy, options);
        return Results{d.ds, d.dt, d.dx};
      };
      const Results want = run();
      for (std::size_t round = 0; round < 42; ++round) {
        Neighbours neighbours(static_cast<std::size_t>(n) * sizeof(double), round);
        const UseAllocator use(kCpu, &neighbours);
        expect_same(run(), want, str(n, " columns, seed ", seed, ", order ", round));
      }
    }
}

TEST(OpsAddress, DenseOperatorsDoNotDependOnIt) {
  for (const Case& of : kDense) expect_one_result(of);
}

TEST(OpsAddress, AdamDoesNotDependOnIt) {
  expect_one_result({"adam", adam}, /*of_16_bits=*/false);
}

}  // namespace
}  // namespace rodeo::test
