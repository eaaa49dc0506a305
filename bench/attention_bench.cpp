/// attention_bench: milliseconds of attention over the edges of graphs, forward and with backward, fused and
/// composed, and of the maximum over neighbours. Beside them is the multiple of the sum over neighbours of as
/// many columns (spmm, forward).
/// Results and gradients of some rows and columns are compared with f64 on the CPU before they are timed.
/// GB/s counts the rows that edges read forward. Exit codes: 0; 2 for a bad option.
#include <fmt/format.h>

#include <cxxopts.hpp>
#include <map>
#include <numeric>

#include "bench/arguments.h"
#include "bench/compare.h"
#include "bench/graphs.h"
#include "bench/kernels.h"
#include "bench/limits.h"
#include "bench/timing.h"
#include "core/memory_stats.h"
#include "core/quoting.h"
#include "core/threads.h"
#include "core/version.h"
#include "datasets/synthetic.h"
#include "ops/attention.h"
#include "ops/dense.h"
#include "ops/gather_rows.h"
#include "ops/gatv2_attention.h"
#include "ops/select_rows.h"
#include "ops/spmm.h"

namespace rodeo::bench {
namespace {

/// The nodes that an operand has a row for: those that attend, those that are attended to, or none.
enum class Side { kRows, kCols, kNone };
struct Operand {
  Side side;
  bool wide;  // [nodes, heads, k]; else [nodes, heads]. Of no nodes: [heads, k]
};

struct Kind {
  std::string name;
  std::vector<Operand> operands;
  Variable (*run)(const Adjacency&, const std::vector<Variable>&, const AttentionOptions&);
  bool has_forms = true;
};

Variable maximum(const Adjacency& adj, const Variable& x) {
  const std::int64_t heads = x.dim(1), k = x.dim(2);
  const Variable y = spmm(adj, reshape(x, {x.dim(0), heads * k}), {.reduce = Reduce::kMax});
  return reshape(y, {adj.rows(), heads, k});
}

const std::vector<Kind>& all_kinds() {
  using V = const std::vector<Variable>&;
  using A = const Adjacency&;
  using O = const AttentionOptions&;
  static const std::vector<Kind> all{
      {"gat",
       {{Side::kRows, false}, {Side::kCols, false}, {Side::kCols, true}},
       [](A adj, V v, O o) { return gat_attention(adj, v[0], v[1], v[2], o); }},
      {"gatv2",
       {{Side::kRows, true}, {Side::kCols, true}, {Side::kNone, true}},
       [](A adj, V v, O o) { return gatv2_attention(adj, v[0], v[1], v[2], {}, o); }},
      {"dot",
       {{Side::kRows, true}, {Side::kCols, true}, {Side::kCols, true}},
       [](A adj, V v, O o) { return dot_attention(adj, v[0], v[1], v[2], {}, {}, o); }},
      {"max", {{Side::kCols, true}}, [](A adj, V v, O) { return maximum(adj, v[0]); }, false}};
  return all;
}

struct Heads {
  std::int64_t count, k;
  std::int64_t columns() const { return count * k; }
};

/// Rows of a graph for a reference on the CPU, and columns of which they are all the rows.
struct Sample {
  Adjacency adj;         // [rows, nodes] on the CPU
  Tensor rows, columns;  // i64, on the device of the graph
};

Sample draw_sample(const Adjacency& adj) {
  constexpr std::int64_t kRows = 256, kColumns = 8;
  const std::int64_t n = adj.rows();
  std::vector<std::int64_t> rows(static_cast<std::size_t>(n)), columns;
  std::iota(rows.begin(), rows.end(), 0);
  if (n > 4 * kRows) {
    const auto draw = [n](std::uint64_t i) {
      return philox(5, 1, i).word[0] % static_cast<std::uint64_t>(n);
    };
    std::vector<char> wanted(static_cast<std::size_t>(n)), in_columns(wanted.size());
    for (std::uint64_t i = 0; i < kRows; ++i) wanted[draw(i)] = 1;
    for (std::uint64_t i = 0; i < kColumns; ++i) in_columns[draw(kRows + i)] = 1;
    const Adjacency host = adj.to(kCpu);
    const auto* ptr = host.csr().row_ptr.data<std::int64_t>();
    const auto* col = host.csr().col.data<std::int32_t>();
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t e = ptr[i]; e < ptr[i + 1]; ++e) wanted[i] |= in_columns[col[e]];
    std::erase_if(rows, [&](std::int64_t i) { return !wanted[i]; });
    for (std::int64_t i = 0; i < n; ++i)
      if (in_columns[i]) columns.push_back(i);
  } else {
    columns = rows;
  }
  const Tensor chosen = Tensor::from(rows, adj.device());
  return {select_rows(adj, chosen).adj.to(kCpu), chosen, Tensor::from(columns, adj.device())};
}

/// Rows of [nodes, heads, k] or [nodes, heads], in f64 on the CPU.
Tensor exact_rows(const Tensor& x, const Tensor& ids) {
  std::vector<std::int64_t> sizes{ids.numel(), x.dim(1)};
  const Tensor flat = gather_rows(x.reshape({x.dim(0), x.numel() / x.dim(0)}), ids).to(kCpu).to(DType::kF64);
  return x.rank() == 3 ? flat.reshape({sizes[0], sizes[1], x.dim(2)}) : flat;
}

struct Work {
  const Kind& kind;
  Adjacency adj;
  AttentionOptions options;
  std::vector<Variable> operands;
  Tensor dy;

  Variable step() const {
    for (Variable x : operands) x.zero_grad();
    const Variable y = kind.run(adj, operands, options);
    y.backward(dy);
    return y;
  }
};

Work make_work(const Kind& kind, const Adjacency& adj, const Heads& heads, DType dtype, AttentionForm form) {
  const auto draw = [&](bool wide, std::uint64_t stream) {
    const Shape shape = wide ? Shape{adj.rows(), heads.count, heads.k} : Shape{adj.rows(), heads.count};
    return draw_operand(shape, stream, dtype, adj.device());
  };
  Work work{kind, adj, {.form = form}, {}, draw(true, 9)};
  for (const Operand& operand : kind.operands) {
    const std::uint64_t stream = work.operands.size() + 1;
    const Tensor x = operand.side == Side::kNone
                         ? draw_operand({heads.count, heads.k}, stream, DType::kF32, adj.device())
                         : draw(operand.wide, stream);
    work.operands.emplace_back(operand.side == Side::kNone && size_of(dtype) > 2 ? x.to(dtype) : x, true);
  }
  return work;
}

/// Throws Error where the result or a gradient differs from that of the sample in f64.
void verify(const Work& work, const Sample& sample) {
  const Tensor y = work.step().value();
  const bool all = sample.rows.numel() == work.adj.rows();
  // The other form: a mistake is not compared with itself.
  const auto form =
      work.options.form == AttentionForm::kComposed ? AttentionForm::kFused : AttentionForm::kComposed;
  Work exact{work.kind, sample.adj, {.form = form}, {}, exact_rows(work.dy, sample.rows)};
  for (std::size_t i = 0; i < work.operands.size(); ++i) {
    const Tensor& x = work.operands[i].value();
    exact.operands.emplace_back(
        work.kind.operands[i].side == Side::kRows ? exact_rows(x, sample.rows) : x.to(kCpu).to(DType::kF64),
        true);
  }
  const Tensor want = exact.step().value();
  const double tolerance = size_of(y.dtype()) > 2 ? 1e-4 : 3e-2;
  const auto compare = [&](const std::string& what, const Tensor& got, const Tensor& expected) {
    const double off = largest_difference(got, expected);
    check(off < tolerance, "[attention_bench] ", work.kind.name, ": ", what, " differs from f64 by ", off);
  };
  compare("the result", exact_rows(y, sample.rows), want);
  const Tensor columns = sample.columns.to(kCpu);
  for (std::size_t i = 0; i < work.operands.size(); ++i) {
    const Side side = work.kind.operands[i].side;
    const Tensor &got = work.operands[i].grad(), &expected = exact.operands[i].grad();
    const std::string what = str("gradient ", i);
    if (side == Side::kRows) compare(what, exact_rows(got, sample.rows), expected);
    if (side == Side::kCols) compare(what, exact_rows(got, sample.columns), exact_rows(expected, columns));
    if (side == Side::kNone && all) compare(what, got, expected);  // a sum over all
  }
}

struct Table {
  Device device;
  int repeats;
  Limits limits;
  std::map<std::pair<std::int64_t, DType>, double> sums = {};  // of this graph, by columns

  double sum(const Adjacency& adj, std::int64_t columns, DType dtype) {
    double& ms = sums[{columns, dtype}];
    if (ms > 0) return ms;
    const Tensor x = draw_operand({adj.cols(), columns}, 1, dtype, device);
    ms = median_milliseconds(device, repeats, [&] { return spmm(adj, x); });
    return ms;
  }

  void row(const NamedGraph& graph, const Sample& sample, const Kind& kind, const Heads& heads, DType dtype,
           AttentionForm form) {
    fmt::print("{:<16} {:<4} {:<6} {:>7} {:<9}", graph.name, name(dtype), kind.name,
               fmt::format("{}x{}", heads.count, heads.k), kind.has_forms ? name(form) : "-");
    std::fflush(stdout);
    try {
      const Work work = make_work(kind, graph.adj, heads, dtype, form);
      verify(work, sample);
      double forward = 0;
      {
        const NoGrad no_grad;
        forward = median_milliseconds(
            device, repeats, [&] { return kind.run(work.adj, work.operands, work.options).value(); });
      }
      const double both = median_milliseconds(device, repeats, [&] { return work.step(); });
      const MemoryGauge gauge(device);
      work.step();
      const auto memory = static_cast<double>(gauge.bytes());
      const double unit = sum(graph.adj, heads.columns(), dtype);
      std::int64_t gathered = 0;
      for (const Operand& operand : kind.operands)
        if (operand.side == Side::kCols) gathered += heads.count * (operand.wide ? heads.k : 1);
      gathered *= static_cast<std::int64_t>(size_of(dtype));
      const double rate = static_cast<double>(gathered * graph.adj.num_edges()) / forward / 1e6;
      const double limit = limits.gather(heads.columns() * static_cast<std::int64_t>(size_of(dtype)),
                                         gathered * graph.adj.cols());
      fmt::print(" {:>9.4g} {:>9.4g} {:>8.2f} {:>8.2f} {:>8.0f} {:>8} {:>10}\n", forward, both,
                 forward / unit, both / unit, rate,
                 limit > 0 ? fmt::format("{:.0f} %", rate / limit / 10) : "-", format_bytes(memory));
    } catch (const OutOfMemory&) {
      fmt::print(" out of memory\n");
    }
  }
};

Heads parse_heads(const std::string& text) {
  const std::size_t x = text.find('x');
  check(x != std::string::npos, "--heads must be heads x columns of a head, such as 4x32, got '", text, "'");
  return {positive("heads", text.substr(0, x)), positive("heads", text.substr(x + 1))};
}

cxxopts::Options describe_options() {
  const auto texts = [](const char* initial) { return cxxopts::value<Texts>()->default_value(initial); };
  const auto text = [](const char* initial) { return cxxopts::value<std::string>()->default_value(initial); };
  cxxopts::Options options("attention_bench",
                           "Times attention over the edges of graphs, fused and composed, and maxima.\n"
                           "Results are compared with float64 first. Lists are separated by commas.\n");
  options.set_width(110).custom_help("[options]").allow_unrecognised_options();
  auto add = options.add_options();
  add("graph", "Synthetic graphs: " + synthetic_preset_names(), texts("arxiv"), "LIST");
  add("kinds", "gat, gatv2, dot, max", texts("gat,gatv2,dot,max"), "LIST");
  add("heads", "Heads x columns of each", texts("1x128,4x32,8x8"), "LIST");
  add("dtypes", "f32, f16, bf16, f64", texts("f32"), "LIST");
  add("forms", "fused, composed, auto", texts("fused,composed"), "LIST");
  add("repeats", "Timed runs; the median is reported", text("10"), "N");
  add("device", "auto, cpu, cuda or cuda:i", text("auto"), "NAME");
  add("h,help", "Print this help");
  return options;
}

void run(const cxxopts::ParseResult& parsed) {
  std::vector<Kind> kinds;
  for (const std::string& wanted : list(parsed, "kinds")) {
    const std::size_t before = kinds.size();
    for (const Kind& kind : all_kinds())
      if (kind.name == wanted) kinds.push_back(kind);
    check(kinds.size() > before, "--kinds must be of gat, gatv2, dot, max, got '", wanted, "'");
  }
  std::vector<Heads> heads;
  for (const std::string& text : list(parsed, "heads")) heads.push_back(parse_heads(text));
  std::vector<DType> dtypes;
  for (const std::string& text : list(parsed, "dtypes")) dtypes.push_back(parse_dtype(text));
  std::vector<AttentionForm> forms;
  for (const std::string& text : list(parsed, "forms")) forms.push_back(parse_attention_form(text));
  const Device device = parse_device(one(parsed, "device"));
  Table table{device, static_cast<int>(positive("repeats", one(parsed, "repeats"))), measure_limits(device)};
  fmt::print("{} ({}), {}\n", RODEO_VERSION, RODEO_COMMIT, describe(device));
  fmt::print("{:<16} {:<4} {:<6} {:>7} {:<9} {:>9} {:>9} {:>8} {:>8} {:>8} {:>8} {:>10}\n", "graph", "type",
             "kind", "heads", "form", "forward", "with back", "x sum", "x sum", "GB/s", "of limit", "memory");
  for (const std::string& preset : preset_list(parsed)) {
    const NamedGraph graph = load_graph({GraphSource::Kind::kSynthetic, preset}, device);
    const Sample sample = draw_sample(graph.adj);
    table.sums.clear();
    for (const DType dtype : dtypes)
      for (const Heads& h : heads)
        for (const Kind& kind : kinds)
          for (const AttentionForm form : forms) {
            table.row(graph, sample, kind, h, dtype, form);
            if (!kind.has_forms) break;
          }
  }
}

}  // namespace
}  // namespace rodeo::bench

int main(int argc, char** argv) {
  rodeo::configure_threads(argv);
  using namespace rodeo::bench;
  try {
    cxxopts::Options description = describe_options();
    const cxxopts::ParseResult parsed = parse_arguments(description, "--help takes no value", argc, argv);
    if (parsed.count("help") > 0) {
      fmt::print("{}", description.help());
      return 0;
    }
    reject_strays(parsed);
    run(parsed);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "attention_bench: {}\n", rodeo::printable(error.what()));
    return 2;
  }
}
