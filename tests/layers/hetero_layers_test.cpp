// The layers of heterogeneous graphs against plain loops in float64, one edge at a time.
#include <algorithm>
#include <cmath>
#include <map>

#include "layers/hgt_conv.h"
#include "layers/rgat_conv.h"
#include "layers/rgcn_conv.h"
#include "tests/support/devices.h"
#include "tests/support/hetero.h"
#include "tests/support/layers.h"

namespace rodeo::test {
namespace {

class LayersHetero : public OnDevice {};
RODEO_ON_ALL_DEVICES(LayersHetero);

using Values = std::vector<double>;

/// x W, for one row.   x [in], w [in, out] from `begin` on
Values times(const Values& x, const Values& w, std::int64_t begin, std::int64_t out) {
  Values y(static_cast<std::size_t>(out));
  for (std::size_t k = 0; k < x.size(); ++k)
    for (std::size_t j = 0; j < y.size(); ++j)
      y[j] += x[k] * w[static_cast<std::size_t>(begin) + k * y.size() + j];
  return y;
}

void add(Values& y, const Values& x, double scale = 1) {
  for (std::size_t j = 0; j < y.size(); ++j) y[j] += scale * x[j];
}

double dot(const Values& x, const Values& y, std::size_t begin, std::size_t end) {
  double sum = 0;
  for (std::size_t j = begin; j < end; ++j) sum += x[j] * y[j];
  return sum;
}

// Glorot and Bengio's bound is of one relation's matrix, however many there are.
TEST(LayersHeteroErrors, WeightsBeginWithinTheBoundOfTheirMatrix) {
  for (const auto& [relations, in, out] :
       {std::tuple<int, std::int64_t, std::int64_t>{40, 3, 5}, {2, 30, 10}}) {
    Random random(1);
    const RgcnConv layer({.types = 2, .relations = relations, .in = in, .out = out}, random);
    const double bound = std::sqrt(6.0 / static_cast<double>(in + out));
    double most = 0;
    for (const auto& [name, parameter] : layer.named_parameters())
      if (name == "weight")
        for (const double w : doubles(parameter.value())) most = std::max(most, std::abs(w));
    EXPECT_LE(most, bound) << relations;
    EXPECT_GT(most, 0.98 * bound) << relations;
  }
}

/// A layer's inputs and parameters in float64.
struct Reference {
  Reference(const HeteroGraph& g, const Module& layer, const HeteroConvOptions& o, const Tensor& x)
      : graph(g), options(o), values(doubles(x)) {
    for (const auto& [name, parameter] : layer.named_parameters()) {
      // Biases and gates are zero or one at first, which would hide errors.
      parameter.value().copy_from(random_tensor(parameter.shape(), DType::kF64, kCpu, 7 + parameters.size()));
      parameters[name] = doubles(parameter.value());
    }
    y.assign(static_cast<std::size_t>(g.num_rows()), Values(static_cast<std::size_t>(o.out)));
  }
  Values part(const Values& all, std::int64_t row, std::int64_t width) const {
    return {all.begin() + row * width, all.begin() + (row + 1) * width};
  }
  Values node(int type, std::int64_t i) const { return part(values, graph.first_node(type) + i, options.in); }
  Values& row(int type, std::int64_t i) { return y[static_cast<std::size_t>(graph.first_row(type) + i)]; }
  Values typed(const std::string& name, int type, const Values& x) const {
    Values out = times(x, parameters.at(name + ".weight"),
                       type * static_cast<std::int64_t>(x.size()) * options.out, options.out);
    add(out, part(parameters.at(name + ".bias"), type, options.out));
    return out;
  }
  /// f(type, i) for all destinations.
  template <class F>
  void for_each_row(const F& f) {
    for (int t = 0; t < graph.num_types(); ++t)
      for (std::int64_t i = 0; i < graph.num_rows(t); ++i) f(t, i);
  }
  Values all() const {
    Values out;
    for (const Values& row : y) out.insert(out.end(), row.begin(), row.end());
    return out;
  }

  const HeteroGraph& graph;
  const HeteroConvOptions& options;
  Values values;
  std::map<std::string, Values> parameters;
  std::vector<Values> y;  // one a row
};

Values rgcn(Reference ref) {
  const auto& [graph, o, values, p, y] = ref;
  const std::int64_t size = o.in * o.out;
  Values w(static_cast<std::size_t>(o.relations * size));
  for (std::int64_t r = 0; r < o.relations; ++r)
    for (std::int64_t k = 0; k < o.in; ++k)
      for (std::int64_t j = 0; j < o.out; ++j) {
        double& to = w[static_cast<std::size_t>(r * size + k * o.out + j)];
        const Values& from = p.at("weight");
        if (o.blocks > 0) {
          const std::int64_t bi = o.in / o.blocks, bo = o.out / o.blocks;
          if (k / bi == j / bo)
            to = from[static_cast<std::size_t>(((r * o.blocks + k / bi) * bi + k % bi) * bo + j % bo)];
        } else if (o.bases > 0) {
          for (std::int64_t b = 0; b < o.bases; ++b)
            to += p.at("comp")[static_cast<std::size_t>(r * o.bases + b)] *
                  from[static_cast<std::size_t>(b * size + k * o.out + j)];
        } else {
          to = from[static_cast<std::size_t>(r * size + k * o.out + j)];
        }
      }
  ref.for_each_row([&](int t, std::int64_t i) {
    add(ref.row(t, i), times(ref.node(t, i), p.at("root"), 0, o.out));
    add(ref.row(t, i), p.at("bias"));
  });
  for_each_edge(graph, [&](int r, std::int64_t j, std::int64_t i, std::int64_t degree) {
    add(ref.row(graph.dst_type(r), i), times(ref.node(graph.src_type(r), j), w, r * size, o.out),
        1 / static_cast<double>(degree));
  });
  return ref.all();
}

void add_typed_root(Reference& ref) {
  ref.for_each_row([&](int t, std::int64_t i) {
    add(ref.row(t, i), times(ref.node(t, i), ref.parameters.at("root"), t * ref.options.in * ref.options.out,
                             ref.options.out));
    add(ref.row(t, i), ref.part(ref.parameters.at("bias"), t, ref.options.out));
  });
}

Values hetero_sage(Reference ref) {
  add_typed_root(ref);
  for_each_edge(ref.graph, [&](int r, std::int64_t j, std::int64_t i, std::int64_t degree) {
    add(ref.row(ref.graph.dst_type(r), i),
        times(ref.node(ref.graph.src_type(r), j), ref.parameters.at("weight"),
              r * ref.options.in * ref.options.out, ref.options.out),
        1 / static_cast<double>(degree));
  });
  return ref.all();
}

/// Adds the sum over edges of softmax(score) message to each row, by head. `group`: rows of one softmax.
struct Message {
  std::int64_t group;
  Values* row;
  Values score, value;  // [heads], [out]
};
void attend(const std::vector<Message>& messages, std::size_t heads) {
  std::map<std::int64_t, Values> sums;
  for (const Message& m : messages) {
    Values& sum = sums.try_emplace(m.group, heads).first->second;
    for (std::size_t h = 0; h < heads; ++h) sum[h] += std::exp(m.score[h]);
  }
  for (const Message& m : messages)
    for (std::size_t j = 0; j < m.value.size(); ++j) {
      const std::size_t h = j / (m.value.size() / heads);
      (*m.row)[j] += std::exp(m.score[h]) / sums.at(m.group)[h] * m.value[j];
    }
}

Values rgat(Reference ref) {
  const HeteroConvOptions& o = ref.options;
  add_typed_root(ref);
  std::vector<Message> messages;
  for_each_edge(ref.graph, [&](int r, std::int64_t j, std::int64_t i, std::int64_t) {
    const int src = ref.graph.src_type(r), dst = ref.graph.dst_type(r);
    const Values& w = ref.parameters.at("weight");
    const Values z_i = times(ref.node(dst, i), w, r * o.in * o.out, o.out),
                 z_j = times(ref.node(src, j), w, r * o.in * o.out, o.out),
                 a_dst = ref.part(ref.parameters.at("att_dst"), r, o.out),
                 a_src = ref.part(ref.parameters.at("att_src"), r, o.out);
    Message m{ref.graph.targets(r).begin + i * ref.graph.targets(r).step, &ref.row(dst, i), {}, z_j};
    const auto width = static_cast<std::size_t>(o.out / o.heads);
    for (std::size_t h = 0; h < static_cast<std::size_t>(o.heads); ++h) {
      const double e =
          dot(z_i, a_dst, h * width, (h + 1) * width) + dot(z_j, a_src, h * width, (h + 1) * width);
      m.score.push_back(e > 0 ? e : o.negative_slope * e);
    }
    messages.push_back(std::move(m));
  });
  attend(messages, static_cast<std::size_t>(o.heads));
  return ref.all();
}

Values hgt(Reference ref) {
  const HeteroConvOptions& o = ref.options;
  const std::int64_t d = o.out / o.heads;
  const auto by_relation = [&](const Values& x, const std::string& name, int r) {
    Values y;
    for (std::int64_t h = 0; h < o.heads; ++h) {
      const Values head = times({x.begin() + h * d, x.begin() + (h + 1) * d}, ref.parameters.at(name),
                                (r * o.heads + h) * d * d, d);
      y.insert(y.end(), head.begin(), head.end());
    }
    return y;
  };
  std::vector<Message> messages;
  for_each_edge(ref.graph, [&](int r, std::int64_t j, std::int64_t i, std::int64_t) {
    const int src = ref.graph.src_type(r), dst = ref.graph.dst_type(r);
    const Values q = ref.typed("q_lin", dst, ref.node(dst, i)),
                 k = by_relation(ref.typed("k_lin", src, ref.node(src, j)), "k_rel.weight", r);
    Message m{ref.graph.first_row(dst) + i,
              &ref.row(dst, i),
              {},
              by_relation(ref.typed("v_lin", src, ref.node(src, j)), "v_rel.weight", r)};
    for (std::int64_t h = 0; h < o.heads; ++h)
      m.score.push_back(ref.parameters.at("p_rel")[static_cast<std::size_t>(r * o.heads + h)] *
                        dot(q, k, static_cast<std::size_t>(h * d), static_cast<std::size_t>((h + 1) * d)) /
                        std::sqrt(static_cast<double>(d)));
    messages.push_back(std::move(m));
  });
  attend(messages, static_cast<std::size_t>(o.heads));
  ref.for_each_row([&](int t, std::int64_t i) {
    Values& y = ref.row(t, i);
    for (double& v : y) v *= 0.5 * (1 + std::erf(v / std::sqrt(2.0)));
    y = ref.typed("out_lin", t, y);
    if (o.in != o.out) return;
    const double s = 1 / (1 + std::exp(-ref.parameters.at("skip")[static_cast<std::size_t>(t)]));
    for (double& v : y) v *= s;
    add(y, ref.node(t, i), 1 - s);
  });
  return ref.all();
}

struct Case {
  std::string name;
  const HeteroConvKind* kind;
  Values (*reference)(Reference);
  HeteroConvOptions options;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"rgcn", &kRgcn, rgcn, {.in = 6, .out = 4}},
      {"rgcn, aggregate first",
       &kRgcn,
       rgcn,
       {.in = 6, .out = 4, .relational = {.order = RelationalOrder::kAggregateFirst}}},
      {"rgcn, 3 bases", &kRgcn, rgcn, {.in = 6, .out = 4, .bases = 3}},
      {"rgcn, 2 blocks", &kRgcn, rgcn, {.in = 6, .out = 4, .blocks = 2}},
      {"hetero-sage", &kHeteroSage, hetero_sage, {.in = 5, .out = 7}},
      {"rgat", &kRgat, rgat, {.in = 5, .out = 6, .heads = 2}},
      {"hgt", &kHgt, hgt, {.in = 6, .out = 6, .heads = 2}},
      {"hgt without skip", &kHgt, hgt, {.in = 5, .out = 6, .heads = 3}},
  };
  return all;
}

TEST_P(LayersHetero, EqualPlainLoops) {
  // A whole graph, one with destinations of one type, and a block whose destinations are some of the nodes.
  const HeteroGraph whole = small_hetero_graph(kCpu).add_reverse();
  const Tensor one = Tensor::from(std::vector<std::int64_t>{2, 0}),
               none = Tensor::from(std::vector<std::int64_t>{});
  const HeteroGraph block({{"a", 3, 1}, {"b", 4, 0}, {"c", 2, 2}},
                          {{"a", "r", "a", one, Tensor::from(std::vector<std::int64_t>{0, 0})},
                           {"b", "s", "c", one, Tensor::from(std::vector<std::int64_t>{1, 1})},
                           {"a", "t", "b", none, none}});
  for (const Case& c : cases())
    for (const HeteroGraph& graph : {whole, whole.with_targets_of(1), block}) {
      SCOPED_TRACE(str(c.name, ", ", graph.num_rows(), " destinations"));
      HeteroConvOptions options = c.options;
      options.types = graph.num_types();
      options.relations = graph.num_relations();
      Random random(1);
      const auto layer = c.kind->make(options, random, kCpu, DType::kF64);
      const Variable x = random_variable({graph.num_nodes(), options.in}, kCpu);
      const Values want = c.reference(Reference(graph, *layer, options, x.value()));
      layer->to(device());
      const HeteroGraph there = graph.to(device());
      EXPECT_TRUE(
          near(layer->forward(there, Variable(x.value().to(device())), {}).value(), want, 1e-11, 1e-12));
    }
}

TEST_P(LayersHetero, AttentionIsDroppedWhileTraining) {
  const HeteroGraph graph = small_hetero_graph(device()).add_reverse();
  const Variable x = random_variable({graph.num_nodes(), 6}, device());
  for (const HeteroConvKind* kind : {&kRgat, &kHgt}) {
    HeteroConvOptions options{
        .types = graph.num_types(), .relations = graph.num_relations(), .in = 6, .out = 6, .heads = 2};
    Random random(1), again(1);
    const auto whole = kind->make(options, random, device(), DType::kF64);
    options.attention_dropout = 0.5;
    const auto layer = kind->make(options, again, device(), DType::kF64);
    const auto run = [&](std::uint64_t seed) { return layer->forward(graph, x, {seed}).value(); };
    EXPECT_TRUE(same_bits(run(1), run(1))) << kind->name;
    EXPECT_FALSE(same_bits(run(1), run(2))) << kind->name;
    layer->eval();
    EXPECT_TRUE(same_bits(run(1), whole->forward(graph, x, {}).value())) << kind->name;
  }
}

TEST_P(LayersHetero, GradientsInFloat64) {
  const HeteroGraph graph = small_hetero_graph(device());
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    HeteroConvOptions options = c.options;
    options.types = graph.num_types();
    options.relations = graph.num_relations();
    Random random(1);
    const auto layer = c.kind->make(options, random, device(), DType::kF64);
    const Variable x = random_variable({graph.num_nodes(), options.in}, device());
    EXPECT_TRUE(layer_gradients_ok(
        *layer, [&](const Variable& in) { return layer->forward(graph, in, {}); }, x));
  }
}

TEST_P(LayersHetero, SingleAndHalfPrecisionFollow) {
  const HeteroGraph graph = small_hetero_graph(device());
  for (const Case& c : cases())
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      SCOPED_TRACE(str(c.name, " ", dtype));
      HeteroConvOptions options = c.options;
      options.types = graph.num_types();
      options.relations = graph.num_relations();
      Random random(1), again(1);
      const auto wide = c.kind->make(options, random, device(), DType::kF64),
                 layer = c.kind->make(options, again, device(), DType::kF32);
      const Variable x(random_tensor({graph.num_nodes(), options.in}, dtype, device()), true);
      const Variable y = layer->forward(graph, x, {});
      EXPECT_EQ(y.dtype(), dtype);
      const Values want = doubles(wide->forward(graph, Variable(x.value().to(DType::kF64)), {}).value());
      EXPECT_TRUE(near(y.value(), want, 20 * epsilon(dtype), 20 * epsilon(dtype)));
      y.backward(Tensor::full(y.shape(), 1, dtype, device()));
      EXPECT_EQ(layer->parameters().front().grad().dtype(), DType::kF32);
    }
}

TEST(LayersHeteroErrors, NameWhatIsWrong) {
  const HeteroGraph graph = small_hetero_graph(kCpu);
  Random random(1);
  EXPECT_ERROR(RgcnConv({.types = 4, .relations = 4, .in = 6, .out = 4, .bases = 2, .blocks = 2}, random),
               "[rgcn_conv] bases and blocks must be >= 0 and one of them 0, got 2 and 2");
  EXPECT_ERROR(RgcnConv({.types = 4, .relations = 4, .in = 6, .out = 4, .blocks = 4}, random),
               "[rgcn_conv] blocks must divide in and out, got 4, 6 and 4");
  EXPECT_ERROR(RgatConv({.types = 4, .relations = 4, .in = 6, .out = 4, .heads = 3}, random),
               "[rgat_conv] out must be a multiple of heads, got 4 and 3");
  const RgcnConv layer({.types = 4, .relations = 3, .in = 6, .out = 4}, random);
  EXPECT_ERROR(layer.forward(graph, Variable(Tensor::zeros({12, 6})), {}),
               "[rgcn_conv] the layer has 4 types and 3 relations, the graph 4 and 4");
}

// In a block, x without a gradient is projected for the sources that edges read alone.
TEST_P(LayersHetero, RgatOfABlockProjectsWhatEdgesRead) {
  const HeteroGraph whole = small_hetero_graph(device());
  std::vector<NodeType> types;
  std::vector<EdgeType> relations;
  for (int t = 0; t < whole.num_types(); ++t) types.push_back(whole.type(t));
  for (int r = 0; r < whole.num_relations(); ++r) relations.push_back(whole.relation(r));
  const HeteroGraph block = HeteroGraph::trusted(types, relations, device());
  Random random(1);
  const RgatConv layer({.types = 4, .relations = 4, .in = 3, .out = 4, .heads = 2}, random, device(),
                       DType::kF64);
  const Tensor x = random_tensor({12, 3}, DType::kF64, device()),
               dy = random_tensor({12, 4}, DType::kF64, device(), 2);
  const auto run = [&](const HeteroGraph& graph, bool learns) {
    for (Variable p : layer.parameters()) p.zero_grad();
    const Variable y = layer.forward(graph, Variable(x, learns), {});
    y.backward(dy);
    std::vector<Tensor> out{y.value()};
    for (const Variable& p : layer.parameters()) out.push_back(p.grad().clone());
    return out;
  };
  const std::vector<Tensor> want = run(whole, false);
  for (const bool learns : {false, true}) {
    const std::vector<Tensor> got = run(block, learns);
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_TRUE(near(got[i], doubles(want[i]), 1e-12)) << learns << i;
  }
}

}  // namespace
}  // namespace rodeo::test
