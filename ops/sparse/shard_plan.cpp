#include "ops/sparse/shard_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/cuda_graph.h"
#include "core/stopwatch.h"
#include "ops/all_gather.h"
#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/kernels/exchange.h"
#include "ops/sparse/row_order.h"
#include "ops/sparse/shapes.h"
#include "ops/sparse/spmm_sum.h"
#include "ops/spmm_tuner.h"

namespace rodeo {
namespace {

const ShardPlan& plan_of(const Adjacency& rows) {
  return rows.cached<ShardPlan>([] { return ShardPlan(); });
}

/// The value of each rank.
std::vector<double> of_ranks(const ShardedRows& share, double own) {
  return share.nodes->ranks()
      .all_gather(Tensor::from(std::vector{own}, share.rows.device()))
      .to_vector<double>();
}
double most(const std::vector<double>& values) {
  return *std::ranges::max_element(values);
}

/// The whole graph, which every rank has then.
Adjacency gather_graph(const ShardedRows& share) {
  const NodePartition& nodes = *share.nodes;
  const Communicator& ranks = nodes.ranks();
  const Csr& own = share.rows.csr();
  const Device device = share.rows.device();
  std::vector<std::int64_t> length = own.row_ptr.to_vector<std::int64_t>();
  std::adjacent_difference(length.begin(), length.end(), length.begin());
  length.erase(length.begin());
  std::vector<std::int64_t> row_ptr =
      ranks.all_gather(Tensor::from(length, device), nodes.rows()).to_vector<std::int64_t>();
  row_ptr.insert(row_ptr.begin(), 0);
  std::partial_sum(row_ptr.begin(), row_ptr.end(), row_ptr.begin());
  std::vector<std::int64_t> edges;
  for (const double count : of_ranks(share, static_cast<double>(own.col.numel())))
    edges.push_back(static_cast<std::int64_t>(count));
  return Adjacency::trusted({nodes.num_nodes(), nodes.num_nodes(), Tensor::from(row_ptr, device),
                             ranks.all_gather(own.col, edges)});
}

const Adjacency& whole_graph(const ShardedRows& share) {
  Adjacency& whole = shard_plan(share).found->whole;
  if (!whole.defined()) {
    check(!is_capturing(share.rows.device()),
          "[spmm] the whole graph cannot be gathered during CUDA graph capture: run the work once before "
          "capturing");
    whole = gather_graph(share);
  }
  return whole;
}

/// A X: exchanges columns for rows, multiplies the whole graph by the rank's columns, and exchanges back.
Tensor sum_by_columns(const ShardedRows& share, const Adjacency& graph, const Tensor& x,
                      const SpmmOptions& options) {
  const NodePartition& nodes = *share.nodes;
  const Communicator& ranks = nodes.ranks();
  const std::int64_t own = nodes.num_rows(), parts = ranks.size(), n = x.dim(1);
  const auto load = std::max<std::int64_t>(1, 16 / static_cast<std::int64_t>(size_of(x.dtype())));
  // Rows of whole 16-byte loads.
  const std::int64_t width = ((n + parts - 1) / parts + load - 1) / load * load;
  const std::vector<std::int64_t> same(static_cast<std::size_t>(parts), own);
  const Tensor split = Tensor::empty({parts, own, width}, x.dtype(), x.device());
  if (split.numel() > 0) kernels::split_columns.on(x.device())(x, split);
  const Tensor columns = ranks.all_to_all(split.reshape({parts * own, width}), same, nodes.rows());
  const Tensor sum = spmm_sum(graph, Tensor(), columns, options);
  const Tensor joined = ranks.all_to_all(sum, nodes.rows(), same).reshape({parts, own, width});
  const Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (y.numel() > 0) kernels::join_columns.on(y.device())(joined, y);
  return y;
}

Tensor gather(const ShardedRows& share, Aggregation form, const Tensor& x) {
  if (form == Aggregation::kHalo) return exchange_halo(*share.nodes, *shard_plan(share).halo, x);
  return all_gather(*share.nodes, x);
}

/// The rank's rows, cut by whether a column is of its own nodes.
void split_rows(const ShardedRows& share, ShardPlan::Found& found) {
  const Csr& all = share.rows.csr();
  const std::int64_t first = share.nodes->first_row(), own = share.nodes->num_rows();
  const std::vector<std::int64_t> row_ptr = all.row_ptr.to_vector<std::int64_t>();
  const Tensor columns = all.col.to(kCpu);
  const auto* col = columns.data<std::int32_t>();
  std::vector<std::int64_t> local_ptr{0}, remote_ptr{0};
  std::vector<std::int32_t> local, remote;
  local.reserve(static_cast<std::size_t>(columns.numel())), remote.reserve(local.capacity());
  for (std::int64_t row = 0; row < own; ++row) {
    for (std::int64_t e = row_ptr[row]; e < row_ptr[row + 1]; ++e)
      if (col[e] >= first && col[e] < first + own)
        local.push_back(static_cast<std::int32_t>(col[e] - first));
      else
        remote.push_back(col[e]);
    local_ptr.push_back(std::ssize(local)), remote_ptr.push_back(std::ssize(remote));
  }
  const Device device = all.col.device();
  found.local = Adjacency::trusted({own, own, Tensor::from(local_ptr, device), Tensor::from(local, device)});
  found.remote =
      Adjacency::trusted({own, all.cols, Tensor::from(remote_ptr, device), Tensor::from(remote, device)});
  order_as(share.rows, found.local);
  order_as(share.rows, found.remote);
}

/// A X of a symmetric graph: multiplies the columns of the rank's own nodes while the other rows arrive.
Tensor overlapped_sum(const ShardedRows& share, const Tensor& x, const SpmmOptions& options) {
  ShardPlan::Found& found = *shard_plan(share).found;
  if (!found.local.defined()) {
    check(!is_capturing(share.rows.device()),
          "[spmm] the rows of a rank cannot be split during CUDA graph capture: run the work once before "
          "capturing");
    split_rows(share, found);
  }
  const Communicator& ranks = share.nodes->ranks();
  const Tensor all = ranks.start_all_gather(x, share.nodes->rows());
  const Tensor near = spmm_sum(found.local, Tensor(), x, options);
  ranks.finish(all);
  return linear_combination(1, near, 1, spmm_sum(found.remote, Tensor(), all, options));
}

Tensor sum_in_form(const ShardedRows& share, Aggregation form, const Tensor& x, const SpmmOptions& options) {
  if (form == Aggregation::kColumns) return sum_by_columns(share, whole_graph(share), x, options);
  if (form == Aggregation::kOverlap) return overlapped_sum(share, x, options);
  return spmm_sum(share.rows, Tensor(), gather(share, form, x), options);
}

std::vector<Aggregation> candidates(const ShardPlan& plan, const AggregationProblem& problem, bool symmetric,
                                    Device device) {
  std::vector<Aggregation> forms{Aggregation::kRows};
  if (plan.halo) forms.push_back(Aggregation::kHalo);
  // On the CPU a rank multiplies no faster because its rows are shorter, and nothing overlaps.
  if (!problem.is_sum || !plan.whole_fits || !device.is_cuda()) return forms;
  if (symmetric) forms.push_back(Aggregation::kOverlap);
  forms.push_back(Aggregation::kColumns);
  return forms;
}

AggregationChoice predict(const ShardPlan& plan, const AggregationProblem& problem, bool symmetric,
                          Device device) {
  AggregationChoice choice{.form = Aggregation::kRows, .reason = "predicted", .predicted = {}, .timed = {}};
  AggregationSizes sizes = plan.sizes;
  sizes.columns = problem.columns, sizes.element_bytes = size_of(problem.dtype);
  for (const Aggregation form : candidates(plan, problem, symmetric, device)) {
    choice.predicted[form] = predict_aggregation(form, sizes).ms();
    if (choice.predicted[form] < choice.predicted[choice.form]) choice.form = form;
  }
  return choice;
}

/// Times the forms that are predicted to be nearly as fast as the fastest.
void time_forms(const ShardedRows& share, AggregationChoice& choice,
                const std::function<void(Aggregation)>& run) {
  constexpr double kNear = 1.5;
  constexpr int kRuns = 3;
  const double best = choice.predicted[choice.form];
  std::vector<Aggregation> near;
  for (const auto& [form, ms] : choice.predicted)
    if (ms <= kNear * best) near.push_back(form);
  if (near.size() < 2) return;
  for (const Aggregation form : near) {
    run(form);  // makes plans
    of_ranks(share, 0);
    Stopwatch stopwatch(share.rows.device());
    for (int i = 0; i < kRuns; ++i) run(form);
    choice.timed[form] = most(of_ranks(share, stopwatch.milliseconds() / kRuns));
  }
  choice.reason = "timed";
  choice.form = std::ranges::min_element(choice.timed, {}, [](const auto& of) { return of.second; })->first;
}

/// The same on all ranks, whose predictions and times are those of the slowest.
Aggregation choose(const ShardedRows& share, const AggregationProblem& problem,
                   const std::function<void(Aggregation)>& run) {
  const ShardPlan& plan = shard_plan(share);
  const Device device = share.rows.device();
  if (plan.wanted == Aggregation::kColumns)
    check(problem.is_sum,
          "aggregation by columns is for sums and means without edge weights: choose auto, rows or halo");
  if (plan.wanted == Aggregation::kOverlap && !(problem.is_sum && share.symmetric)) return Aggregation::kRows;
  if (plan.wanted != Aggregation::kAuto) return plan.wanted;
  auto& choices = plan.found->choices;
  if (const auto at = choices.find(problem); at != choices.end()) return at->second.form;
  AggregationChoice choice = predict(plan, problem, share.symmetric, device);
  if (device.is_cuda()) {
    if (is_capturing(device)) return Aggregation::kRows;  // not kept: the next call outside of a capture is
    time_forms(share, choice, run);
  }
  return choices.emplace(problem, std::move(choice)).first->second.form;
}

Aggregation choose_sum(const ShardedRows& share, const Tensor& x, const SpmmOptions& options) {
  const auto run = [&](Aggregation form) { sum_in_form(share, form, x, options); };
  return choose(share, {x.dim(1), x.dtype(), true}, run);
}

Aggregation choose_gather(const ShardedRows& share, const Tensor& x) {
  if (!is_float(x.dtype())) return Aggregation::kRows;
  const auto run = [&](Aggregation form) { gather(share, form, x); };
  return choose(share, {row_size(edge_matrix(x)), x.dtype(), false}, run);
}

}  // namespace

void plan_shard(const ShardedRows& share, Aggregation wanted) {
  const NodePartition& nodes = *share.nodes;
  ShardPlan plan{.planned = true, .wanted = wanted, .halo = nullptr, .sizes = {}, .whole_fits = false};
  plan.sizes.ranks = nodes.ranks().size();
  plan.sizes.nodes = nodes.num_nodes();
  const std::vector<double> edges = of_ranks(share, static_cast<double>(share.rows.num_edges()));
  const double all = std::accumulate(edges.begin(), edges.end(), 0.0);
  plan.sizes.edges = static_cast<std::int64_t>(all);
  if (all > 0) plan.sizes.imbalance = most(edges) * plan.sizes.ranks / all;
  if (wanted == Aggregation::kHalo || wanted == Aggregation::kAuto) {
    auto halo = std::make_shared<const HaloRows>(find_halo(share));
    const auto others = static_cast<double>(nodes.num_nodes() - nodes.num_rows());
    const auto read = static_cast<double>(halo->received.numel());
    plan.sizes.halo_share = most(of_ranks(share, others > 0 ? read / others : 0));
    constexpr double kNearlyAll = 0.9;
    if (wanted == Aggregation::kHalo || plan.sizes.halo_share < kNearlyAll) plan.halo = std::move(halo);
  }
  // A quarter of the memory is left to a CSR of the graph: 4 bytes an edge and 8 a row, and as much for
  // plans.
  const auto free = static_cast<double>(memory_room(share.rows.device()).free);
  const double needed = 2 * (4 * all + 8 * static_cast<double>(nodes.num_nodes()));
  plan.whole_fits = most(of_ranks(share, -free)) < -4 * needed;
  share.rows.cached<ShardPlan>([&] { return plan; });
}

const ShardPlan& shard_plan(const ShardedRows& share) {
  return plan_of(share.rows);
}

Tensor neighbour_rows(const ShardedRows& share, const Tensor& x) {
  return gather(share, choose_gather(share, x), x);
}

Variable neighbour_rows(const ShardedRows& share, const Variable& x) {
  if (choose_gather(share, x.value()) != Aggregation::kHalo) return all_gather(*share.nodes, x);
  const ShardedRows of = share;
  return record("exchange_halo", gather(share, Aggregation::kHalo, x.value()), {x}, [of](const Tensor& dy) {
    return std::vector{exchange_halo_backward(*of.nodes, *shard_plan(of).halo, dy)};
  });
}

Tensor sharded_sum(const ShardedRows& share, const Tensor& x, const SpmmOptions& options) {
  return sum_in_form(share, choose_sum(share, x, options), x, options);
}

Variable sharded_sum(const ShardedRows& share, const Variable& x, const SpmmOptions& options) {
  const Aggregation form = choose_sum(share, x.value(), options);
  if (!share.symmetric && form != Aggregation::kColumns)
    return spmm_sum(share.rows, Variable(), neighbour_rows(share, x), options);
  const ShardedRows of = share;
  return record("spmm", sum_in_form(share, form, x.value(), options), {x},
                [of, form, options](const Tensor& dy) {
                  if (form != Aggregation::kColumns) return std::vector{sum_in_form(of, form, dy, options)};
                  return std::vector{sum_by_columns(of, transpose_pattern(whole_graph(of)), dy, options)};
                });
}

std::string explain_shard(const Adjacency& rows) {
  const ShardPlan& plan = plan_of(rows);
  std::string text;
  if (plan.planned && plan.wanted != Aggregation::kAuto) text = str("  ", plan.wanted, ", as asked for\n");
  for (const auto& [problem, choice] : plan.found->choices) {
    text += str("  ", problem.is_sum ? "sum of " : "exchange of ", problem.columns, " columns, ",
                problem.dtype, ": ", choice.form, ", ", choice.reason);
    for (const auto& [form, ms] : choice.predicted) {
      const auto timed = choice.timed.find(form);
      text += fmt::format("; {} {:.3f} ms predicted", name(form), ms);
      if (timed != choice.timed.end()) text += fmt::format(", {:.3f} timed", timed->second);
    }
    text += "\n";
  }
  for (const Adjacency& part : {plan.found->whole, plan.found->local, plan.found->remote})
    if (part.defined()) text += explain_spmm(part);
  return text;
}

}  // namespace rodeo
