/// The forms of exchange, for tests that run a product in each of them.
#pragma once

#include <vector>

#include "ops/sparse/aggregation_forms.h"

namespace rodeo::test {

/// kAuto, and every row of the table.
inline std::vector<Aggregation> all_forms() {
  std::vector<Aggregation> forms{Aggregation::kAuto};
  for (const AggregationForm* row : aggregation_forms()) forms.push_back(row->form);
  return forms;
}

/// Whether a graph that is prepared for the form refuses such products of f64.
inline bool refuses(Aggregation form, ProductKind kind) {
  if (form == Aggregation::kAuto) return false;
  const AggregationForm& row = aggregation_form(form);
  return row.supports && !row.supports({8, DType::kF64, kind, 0});
}

}  // namespace rodeo::test
