/// The results of epoch_bench as a table, CSV and JSON.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "datasets/reorder.h"
#include "ops/plan/aggregation_cost.h"
#include "train/task/node_model.h"
#include "train/trainer.h"

namespace rodeo::bench {

/// One training run.
struct EpochRow {
  std::string graph;
  TrainOptions options;
  TrainSummary summary;
  double of_roofline;    // bound / measured time; NaN: not known
  std::string features;  // "dense" or "sparse"
  NodeOrder reorder;
  double reorder_ms;
  int ranks = 1;
  std::int64_t nodes = 0, edges = 0, columns = 0, classes = 0;  // columns: of the features
  double loss = 0;                                              // of the last epoch
  AggregationRates rates = {};                                  // of several ranks, measured
};

void print_epoch_header();
void print_epoch_row(const EpochRow& row);

/// Both begin with the columns of scripts/pyg_epoch.py. CSV leaves unknown numbers empty, JSON writes null.
void write_epoch_csv(const std::vector<EpochRow>& rows, std::ostream& out);
void write_epoch_json(const std::vector<EpochRow>& rows, std::ostream& out);

}  // namespace rodeo::bench
