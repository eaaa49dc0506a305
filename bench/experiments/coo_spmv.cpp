// COO SpMV by segmented reduction (Bell & Garland, SC 2009) against CSR-vector, and from how many products on
// it pays to build the CSR of an edge list first. The serial kernel is timed on small matrices.
#include <cmath>

#include "bench/experiments/experiment.h"
#include "bench/experiments/text_forms.h"
#include "bench/timing.h"
#include "ops/convert.h"
#include "ops/segment_sum.h"

namespace rodeo::bench {
namespace {

/// y = A x of the sorted edge list of the problem; the check of the row ids included.
Kernel coo_kernel() {
  return {"coo", Op::kSpmv, [](const Problem& p) -> Run {
            const EdgeList edges = csr_to_coo(p.adj);
            const Tensor x = p.x.reshape({p.x.numel()});
            return [=] {
              return p.weight.defined() ? coo_spmv(edges.row, edges.col, p.weight, x, p.adj.rows())
                                        : coo_spmv(edges.row, edges.col, x, p.adj.rows());
            };
          }};
}

}  // namespace

void run_coo_spmv(ExperimentRun& run) {
  std::vector<Kernel> kernels{coo_kernel(), serial_coo_kernel()};
  for (const Kernel& kernel : select_kernels(Op::kSpmv, {})) kernels.push_back(kernel);
  const DType dtype = run.dtypes(DType::kF32).front();
  const auto standard = [&](bool banded) {
    std::vector<GraphSource> sources;
    if (run.small())
      sources = synthetic_sources(banded ? std::vector<std::string>{"grid-5-40", "grid-27-10"}
                                         : std::vector<std::string>{"powerlaw-2K-30K", "rmat-12-60K"});
    else
      sources = synthetic_sources(
          banded ? std::vector<std::string>{"grid-5-1000", "grid-7-100", "grid-27-100"}
                 : std::vector<std::string>{"powerlaw-20K-200K", "powerlaw-1M-16M", "rmat-20-16M", "arxiv"});
    const auto twin = twin_sources({banded ? "shyy41" : "webbase-1M"});
    sources.insert(sources.end(), twin.begin(), twin.end());
    return sources;
  };
  for (const bool banded : {false, true}) {
    const std::string kind = run.options.graphs_given ? "given" : banded ? "banded" : "power-law";
    if (banded && run.options.graphs_given) break;
    TextTable table(
        str("COO SpMV against CSR-vector, ", kind, " matrices, ", dtype,
            ". coo: coo_spmv() of a sorted edge list with its checks"),
        {"matrix", "mean", "variation", "coo us", "segmented us", "vector us", "best of CSR us",
         "cuSPARSE us", "vector / coo", "edge list to CSR us", "CSR pays from", "serial us", "serial / coo"});
    run.each_graph(standard(banded), [&](const NamedGraph& graph) {
      const RowStatistics rows = row_statistics(graph.adj);
      const ExperimentRun::Times times = run.times(graph, Op::kSpmv, dtype, 1, kernels);
      const double coo = time_of(times, "coo"), vector = time_of(times, "vector");
      const EdgeList edges = csr_to_coo(graph.adj);
      const double build = median_milliseconds(run.device(), run.options.repeats, [&] {
        return coo_to_csr(edges.row, edges.col, graph.adj.rows(), graph.adj.cols()).adj;
      });
      double best = kUnknown;  // of the kernels on a CSR
      for (const auto& [kernel, ms] : times)
        if (!kernel.starts_with("coo") && !kernel.starts_with("cusparse")) best = std::fmin(best, ms);
      table.add({graph.name, cell(rows.mean), cell(rows.variation()), cell(1000 * coo),
                 cell(1000 * time_of(times, "segmented")), cell(1000 * vector), cell(1000 * best),
                 cell(1000 * fastest(times, "cusparse")), cell(vector / coo), cell(1000 * build),
                 coo > best ? str(static_cast<std::int64_t>(build / (coo - best)) + 1, " products") : "never",
                 cell(1000 * time_of(times, "coo-serial")), cell(time_of(times, "coo-serial") / coo)});
    });
    table.print();
  }
}

}  // namespace rodeo::bench
