/// The forms of exchange between the ranks of a sharded graph (ops/aggregation_types.h), a row each. A form
/// is a file that defines its row, and an entry of the table in aggregation_forms.cpp. Names, help, errors,
/// choosing, explanations and tests follow from the table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/adjacency.h"
#include "core/node_partition.h"
#include "core/variable.h"
#include "ops/aggregation_types.h"
#include "ops/attention_types.h"
#include "ops/plan/aggregation_cost.h"
#include "ops/sparse/shard_plan.h"
#include "ops/spmm_types.h"

namespace rodeo {

/// A form of exchange. All functions are collective calls unless stated otherwise.
struct AggregationForm {
  Aggregation form;
  /// The predicted time of a product. A pure function.
  AggregationTime (*cost)(const AggregationSizes& sizes, const AggregationRates& rates);

  /// Which products it computes; null: all. Others throw Error where the form was asked for. A pure function.
  bool (*supports)(const AggregationProblem& problem) = nullptr;
  /// These products in words, after "NAME is for".
  std::string_view supported = {};

  /// Whether kAuto considers it for products that it supports; null: always. No collective call.
  bool (*is_candidate)(const ShardedRows& shard, const AggregationProblem& problem) = nullptr;
  /// On the CPU a rank multiplies no faster because its rows are shorter.
  bool gpus_only = false;

  /// Prepares a graph for which kAuto or this form was asked for; null: nothing is to be done.
  void (*prepare)(const ShardedRows& shard, ShardPlan& plan) = nullptr;

  /// x [nodes of the rank, ...] -> [all nodes, ...]: the rows that the rank's edges read; others may not be
  /// initialised. Recorded. Null: the form computes sums and attention alone.
  Variable (*gather)(const ShardedRows& shard, const Variable& x) = nullptr;
  /// A X.   weight [edges of the rank], or undefined; x [nodes of the rank, n]. Recorded. Null: the rank's
  /// rows of A times the gathered rows of X.
  Variable (*sum)(const ShardedRows& shard, const Variable& weight, const Variable& x,
                  const SpmmOptions& options) = nullptr;
  /// gat_attention.   s, t [nodes of the rank, heads]; x [nodes of the rank, heads, k]. Recorded. Null: of
  /// the gathered rows of t and x.
  Variable (*attention)(const ShardedRows& shard, const Variable& s, const Variable& t, const Variable& x,
                        const AttentionOptions& options) = nullptr;
  /// gat_self_attention.   a_dst, a_src [heads, k], equal on all ranks. Recorded. Null: `attention` of the
  /// scores of x.
  Variable (*self_attention)(const ShardedRows& shard, const Variable& x, const Variable& a_dst,
                             const Variable& a_src, const AttentionOptions& options) = nullptr;

  /// Graphs that the form stores with the rank's rows, for explanations; null: none. No collective call.
  std::vector<Adjacency> (*graphs)(const Adjacency& rows) = nullptr;
  /// Frees what no chosen product reads; null: nothing is stored. No collective call.
  void (*release)(const Adjacency& rows, const AggregationChoices& choices) = nullptr;
};

/// All forms but kAuto, which takes one of them. The first is kRows.
std::span<const AggregationForm* const> aggregation_forms();
const AggregationForm& aggregation_form(Aggregation form);

/// Whether a product was chosen to be in this form.
bool is_chosen(const AggregationChoices& choices, Aggregation form);

/// What the form says of products that it does not support: "columns is for sums ...".
std::string what_it_supports(const AggregationForm& form);
/// "auto, rows or halo": what to choose for any product.
std::string forms_of_all_products();

/// One product in one form; kAuto: in the fastest. With one rank, nothing is exchanged.
AggregationTime predict_aggregation(Aggregation form, const AggregationSizes& sizes,
                                    const AggregationRates& rates = {});
/// The form of the lowest cost.
Aggregation predict_form(const AggregationSizes& sizes, const AggregationRates& rates = {});

/// Prepares a graph for `wanted`. A collective call, once.   timed, cache, rates: see ShardPlan.
void plan_shard(const ShardedRows& shard, Aggregation wanted, bool timed, const std::string& cache,
                const AggregationRates& rates = {});

}  // namespace rodeo
