// RoDe (Pang et al., PPoPP 2024): SpMM and SDDMM at 32 and 128 columns over matrices of different variation
// of row lengths; the decomposition, N_S and the pipeline varied one by one; preprocessing.
#include <algorithm>

#include "bench/experiments/experiment.h"
#include "bench/rode_ablation.h"
#include "ops/spmm.h"
#include "ops/spmm_variant.h"

namespace rodeo::bench {
namespace {

struct Measured {
  std::string graph;
  RowStatistics rows;
  ExperimentRun::Times times;
  std::string kernel;  // what rode is: on small graphs rode-small or rode-tiny; of SDDMM rows
};

/// Speed-up of `kernel` over `baseline` by the variation of row lengths.
svg::Series speedup(const std::string& name, const std::vector<Measured>& all, const std::string& kernel,
                    const std::string& baseline) {
  svg::Series series{name, {}, {}, /*dots=*/true};
  for (const Measured& m : all) {
    series.x.push_back(m.rows.variation());
    series.y.push_back(fastest(m.times, baseline) / time_of(m.times, kernel));
  }
  return series;
}

std::vector<GraphSource> standard_graphs(bool small) {
  std::vector<GraphSource> sources =
      twin_sources({"ash219", "shyy41", "Ga41As41H72", "Si41Ge41H72", "mip1", "webbase-1M"});
  const std::vector<std::string> names =
      small ? std::vector<std::string>{"grid-27-10", "rmat-12-60K"}
            : std::vector<std::string>{"grid-27-64", "uniform-500K-32", "arxiv", "powerlaw-500K-16M",
                                       "rmat-18-16M"};
  const auto graphs = synthetic_sources(names);
  sources.insert(sources.end(), graphs.begin(), graphs.end());
  return sources;
}

struct KernelColumn {
  std::string column;
  Kernel kernel;
};

/// The forms of RoDe with one part switched off, and the text's. They are f32 kernels.
std::vector<KernelColumn> forms(Device device) {
  std::vector<KernelColumn> variants;
  for (const RodeForm& form : rode_forms(device))
    variants.push_back(
        {std::string(form.name), {str("rode form: ", form.name), Op::kSpmm, [&form](const Problem& p) -> Run {
                                    if (p.dtype != DType::kF32 || (p.n % 32 != 0 && !form.any_width))
                                      return {};
                                    const RodePlan plan = form.plan(p.adj, {});
                                    return [&form, p, plan] { return form.run(p.adj, plan, p.weight, p.x); };
                                  }}});
  return variants;
}

KernelColumn with_options(const std::string& column, const RodeOptions& rode) {
  const SpmmOptions options{.algorithm = SpmmAlgorithm::kRode, .rode = rode};
  return {column, {str("rode, ", rode), Op::kSpmm, [=](const Problem& p) -> Run {
                     return [=] {
                       return p.weight.defined() ? spmm(p.adj, p.weight, p.x, options)
                                                 : spmm(p.adj, p.x, options);
                     };
                   }}};
}

const std::vector<KernelColumn>& lengths() {
  static const std::vector<KernelColumn> variants = [] {
    std::vector<KernelColumn> all;
    for (const std::int64_t split : {128, 256, 512, 1024, 2048})
      all.push_back(with_options(str("N_S ", split), {.split = split}));
    for (const std::int64_t block : {8, 16, 64})
      all.push_back(with_options(str("N_B ", block), {.split = 512, .block = block}));
    return all;
  }();
  return variants;
}

std::vector<Kernel> kernels_of(Op op, const ExperimentRun& run) {
  std::vector<Kernel> kernels;
  for (const Kernel& kernel : select_kernels(op, run.options.kernels))
    if (!kernel.name.ends_with("-f32out")) kernels.push_back(kernel);
  if (op == Op::kSddmm) return kernels;
  for (const KernelColumn& variant : forms(run.device())) kernels.push_back(variant.kernel);
  for (const KernelColumn& variant : lengths()) kernels.push_back(variant.kernel);
  return kernels;
}

void print_speedups(const std::string& title, Op op, const std::vector<Measured>& all) {
  const bool spmm = op == Op::kSpmm;
  TextTable table(title,
                  {"matrix", "rode is", "rows' mean", "deviation", "variation", "longest", "rode ms",
                   spmm ? "csr ms" : "edges ms", "cuSPARSE ms", spmm ? "x csr" : "x edges", "x cuSPARSE"});
  for (const Measured& m : all) {
    const double rode = spmm ? time_of(m.times, "rode") : fastest(m.times, "ro"),
                 other = time_of(m.times, spmm ? "csr" : "edges"), peer = fastest(m.times, "cusparse");
    table.add({m.graph, m.kernel, cell(m.rows.mean), cell(m.rows.deviation), cell(m.rows.variation()),
               cell(m.rows.longest), cell(rode), cell(other), cell(peer), cell(other / rode),
               cell(peer / rode)});
  }
  table.print();
}

/// One column for each variant: its time / that of `base`.
void print_variants(const std::string& title, const std::vector<Measured>& all, const std::string& base,
                    const std::vector<KernelColumn>& variants) {
  std::vector<std::string> columns{"matrix", "rode is", "variation", base + " ms"};
  for (const KernelColumn& variant : variants) columns.push_back(variant.column);
  TextTable table(title, columns);
  for (const Measured& m : all) {
    const double ms = time_of(m.times, base);
    std::vector<std::string> row{m.graph, m.kernel, cell(m.rows.variation()), cell(ms)};
    for (const KernelColumn& variant : variants)
      row.push_back(cell(time_of(m.times, variant.kernel.name) / ms));
    table.add(row);
  }
  table.print();
}

}  // namespace

void run_rode(ExperimentRun& run) {
  TextTable plans = amortisation_table("Preprocessing of RoDe");
  std::map<std::pair<Op, std::int64_t>, std::vector<Measured>> measured;
  const std::vector<std::int64_t> widths = run.widths({32, 128});
  const DType dtype = run.dtypes(DType::kF32).front();
  run.each_graph(standard_graphs(run.small()), [&](const NamedGraph& graph) {
    const double plan = time_plan(all_plans().front(), graph.adj, 5);
    const bool weighted = run.weights(graph, dtype).defined();
    for (const std::int64_t n : widths)
      for (const Op op : {Op::kSpmm, Op::kSddmm}) {
        const Measured m{
            graph.name, row_statistics(graph.adj), run.times(graph, op, dtype, n, kernels_of(op, run)),
            op == Op::kSpmm ? std::string(spmm_variant(graph.adj, {n, dtype, weighted}).name) : "rows"};
        measured[{op, n}].push_back(m);
        if (op != Op::kSpmm) continue;
        plans.add(amortisation(graph.name, n, plan, time_of(m.times, "rode")));
      }
  });
  for (auto& [problem, all] : measured) {
    const auto& [op, n] = problem;
    std::stable_sort(all.begin(), all.end(), [](const Measured& a, const Measured& b) {
      return a.rows.variation() < b.rows.variation();
    });
    const std::string what = str(op == Op::kSpmm ? "SpMM" : "SDDMM", ", ", n, " columns, ", dtype);
    print_speedups(what + ": RoDe by the variation of row lengths (deviation / mean)", op, all);
    if (op == Op::kSpmm) {
      std::vector<KernelColumn> parts = forms(run.device());
      const std::string full = parts.front().kernel.name;
      parts.erase(parts.begin());
      parts.push_back({"atomic sums (library)", {"rode-atomic", Op::kSpmm, {}}});
      print_variants(what + ": one part of RoDe switched off, time / that of the full form", all, full,
                     parts);
      print_variants(what + ": N_S (N_B 32) and N_B (N_S 512), time / that of the default by size", all,
                     "rode", lengths());
      run.add_chart(
          what, {.title = what, .x = "variation of row lengths", .y = "speed-up of RoDe", .log_x = true},
          {speedup("over csr", all, "rode", "csr"), speedup("over cuSPARSE", all, "rode", "cusparse")});
    }
  }
  plans.print();
}

}  // namespace rodeo::bench
