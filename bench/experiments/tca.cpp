// TCA-SpMM: speed by columns and by sparsity, the number of MMAs by the cost model of the paper, and what its
// plan costs.
#include <cmath>

#include "bench/experiments/experiment.h"
#include "bench/explain.h"
#include "bench/twins.h"
#include "ops/sparse/tca_plans.h"

namespace rodeo::bench {
namespace {

const std::vector<std::string> kKernels{"tca", "rode-tc", "rode", "csr"};

std::vector<Kernel> kernels_to_time() {
  std::vector<Kernel> kernels = kernels_named(Op::kSpmm, kKernels);
  for (const Kernel& kernel : select_kernels(Op::kSpmm, {}))
    if (kernel.peer && !kernel.name.ends_with("-f32out")) kernels.push_back(kernel);
  return kernels;
}

/// The plan of the product, with the clusters that it is ordered by.
Plan plan_of(std::int64_t n, DType dtype) {
  return {"tca", [=](const Adjacency& adj) { tca_plan(adj, TcaPlan::tiles(n, size_of(dtype))); }};
}

std::vector<std::string> columns(const std::string& first, const std::string& second) {
  return {first,          second,    "nonzeros",     "tca ms",     "rode-tc ms",
          "rode ms",      "csr ms",  "cuSPARSE ms",  "rode / tca", "cuSPARSE / tca",
          "MMAs (model)", "planned", "planned / us", "useful"};
}

std::vector<std::string> row(const std::string& first, const std::string& second, const Adjacency& adj,
                             std::int64_t n, DType dtype, const ExperimentRun::Times& times) {
  constexpr double kProductsOfAnMma = 16 * 8 * 8;
  const double tca = time_of(times, "tca"), peer = fastest(times, "cusparse");
  std::vector<std::string> out{first, second, cell(adj.num_edges())};
  for (const std::string& kernel : kKernels) out.push_back(cell(time_of(times, kernel)));
  const auto [mmas, planned] = count_mmas(adj, n, dtype);
  const double useful = static_cast<double>(adj.num_edges()) * static_cast<double>(n) /
                        (static_cast<double>(mmas) * kProductsOfAnMma);
  for (const std::string& text :
       {cell(peer), cell(time_of(times, "rode") / tca), cell(peer / tca), cell(mmas), cell(planned),
        cell(static_cast<double>(planned) / (1000 * tca)), cell(useful)})
    out.push_back(text);
  return out;
}

svg::Series series(const std::string& kernel,
                   const std::vector<std::pair<double, ExperimentRun::Times>>& all) {
  svg::Series line{kernel, {}, {}, /*dots=*/true};
  for (const auto& [x, times] : all) line.x.push_back(x), line.y.push_back(fastest(times, kernel));
  return line;
}

void by_columns(ExperimentRun& run, DType dtype) {
  const std::vector<std::int64_t> widths = run.widths(
      run.small() ? std::vector<std::int64_t>{16, 32} : std::vector<std::int64_t>{16, 32, 64, 128, 256});
  TextTable table(str("TCA-SpMM by columns, ", dtype), columns("matrix", "n"));
  TextTable plans = amortisation_table(str("Preprocessing of TCA-SpMM, ", dtype));
  run.each_graph(
      synthetic_sources(run.small() ? std::vector<std::string>{"rmat-12-60K"}
                                    : std::vector<std::string>{"arxiv", "reddit", "grid-27-100"}),
      [&](const NamedGraph& graph) {
        std::vector<std::pair<double, ExperimentRun::Times>> all;
        for (const std::int64_t n : widths) {
          const auto times = run.times(graph, Op::kSpmm, dtype, n, kernels_to_time());
          table.add(row(graph.name, cell(n), graph.adj, n, dtype, times));
          plans.add(
              amortisation(graph.name, n, time_plan(plan_of(n, dtype), graph.adj, 5), time_of(times, "tca")));
          all.emplace_back(static_cast<double>(n), times);
        }
        const std::string title = str("TCA-SpMM by columns, ", graph.name, ", ", dtype);
        run.add_chart(
            title, {.title = title, .x = "columns", .y = "ms", .log_x = true, .log_y = true},
            {series("tca", all), series("rode-tc", all), series("rode", all), series("cusparse", all)});
      });
  table.print();
  plans.print();
}

void by_sparsity(ExperimentRun& run, DType dtype) {
  const std::int64_t side = run.small() ? 256 : 8192, n = run.widths({128}).back();
  TextTable table(str("TCA-SpMM by sparsity, ", side, " x ", side,
                      ", rows of equal length at random columns, ", n, " columns, ", dtype),
                  columns("sparsity", "a row"));
  std::vector<std::pair<double, ExperimentRun::Times>> all;
  for (const double density : {0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001}) {
    const auto length = static_cast<std::int64_t>(std::llround(density * static_cast<double>(side)));
    const NamedGraph graph{
        str("random, sparsity ", 1 - density),
        random_matrix(std::vector<std::int64_t>(static_cast<std::size_t>(side), length), side, false)
            .to(run.device()),
        {},
        length};
    if (length == 0) continue;
    const auto times = run.times(graph, Op::kSpmm, dtype, n, kernels_to_time());
    table.add(row(cell(1 - density), cell(length), graph.adj, n, dtype, times));
    all.emplace_back(density, times);
  }
  table.print();
  const std::string title = str("TCA-SpMM by density, ", side, " x ", side, ", ", n, " columns, ", dtype);
  run.add_chart(title,
                {.title = title, .x = "density (1 - sparsity)", .y = "ms", .log_x = true, .log_y = true},
                {series("tca", all), series("rode-tc", all), series("rode", all), series("cusparse", all)});
}

}  // namespace

void run_tca(ExperimentRun& run) {
  for (const DType dtype : run.dtypes(DType::kF16)) {
    by_columns(run, dtype);
    if (!run.options.graphs_given) by_sparsity(run, dtype);
  }
}

}  // namespace rodeo::bench
