// What the cluster order of RoDe's plan brings on each kind of graph.
#include "bench/experiments/experiment.h"
#include "bench/rode_ablation.h"
#include "ops/plan/row_clusters.h"
#include "ops/sparse/graph_plans.h"

namespace rodeo::bench {
namespace {

/// RoDe's full form with a plan in cluster order, or by length alone.
Kernel full_form(bool clusters) {
  return {clusters ? "clusters" : "no clusters", Op::kSpmm, [=](const Problem& p) -> Run {
            if (p.n % 32 != 0) return {};
            const RodeForm& full = rode_forms(p.adj.device()).front();
            const RodePlan plan = make_rode_plan(p.adj, clusters ? cluster_rows(p.adj) : Tensor());
            return [=, &full] { return full.run(p.adj, plan, p.weight, p.x); };
          }};
}

}  // namespace

void run_clusters(ExperimentRun& run) {
  const Plan with{"clusters", [](const Adjacency&adj) { make_rode_plan(adj, cluster_rows(adj)); }},
      without{"no clusters", [](const Adjacency&adj) { make_rode_plan(adj); }};
  std::vector<GraphSource> standard = synthetic_sources(
      run.small() ? std::vector<std::string>{"rmat-10-16K", "uniform-1K-16", "powerlaw-1K-16K", "grid-27-10"}
                  : std::vector<std::string>{"arxiv", "reddit", "products", "rmat-20-16M", "uniform-1M-32",
                                             "powerlaw-1M-32M", "grid-5-1000", "grid-7-100", "grid-27-100"});
  standard.push_back({GraphSource::Kind::kSynthetic, run.small() ? "grid-27-10" : "grid-27-100", true});
  TextTable table("RoDe SpMM, f32, with the plan in cluster order and by length alone",
                  {"graph", "edges a row", "n", "by default", "no clusters ms", "clusters ms", "speed-up",
                   "plan ms", "plan with clusters ms", "csr ms"});
  run.each_graph(standard, [&](const NamedGraph& graph) {
    if (graph.adj.rows() != graph.adj.cols()) return;
    std::vector<Kernel> kernels{full_form(false), full_form(true)};
    kernels.push_back(kernels_named(Op::kSpmm, {"csr"}).front());
    const double plan = time_plan(without, graph.adj, 5), clustered = time_plan(with, graph.adj, 5);
    for (const std::int64_t n : run.widths({32, 128})) {
      const auto times = run.times(graph, Op::kSpmm, DType::kF32, n, kernels);
      const double off = time_of(times, "no clusters"), on = time_of(times, "clusters");
      table.add({graph.name, cell(row_statistics(graph.adj).mean), cell(n),
                 row_clusters(graph.adj).defined() ? "clusters" : "-", cell(off), cell(on), cell(off / on),
                 cell(plan), cell(clustered), cell(time_of(times, "csr"))});
    }
  });
  table.print();
}

}  // namespace rodeo::bench
