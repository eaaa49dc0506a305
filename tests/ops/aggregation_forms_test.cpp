// The table of forms of exchange: each row is tested here without ranks, and over ranks in
// tests/ranks/aggregation_test.cpp and constant_weight_test.cpp.
#include "ops/sparse/aggregation_forms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/support/devices.h"

namespace rodeo::test {
namespace {

std::vector<AggregationProblem> all_problems() {
  std::vector<AggregationProblem> problems;
  for (const auto kind :
       {ProductKind::kOther, ProductKind::kSum, ProductKind::kConstantWeights, ProductKind::kWeightedSum,
        ProductKind::kAttention, ProductKind::kComposedAttention}) {
    const bool attention = kind == ProductKind::kAttention || kind == ProductKind::kComposedAttention;
    problems.push_back({64, DType::kF32, kind, attention ? 8 : 0});
  }
  return problems;
}

TEST(OpsAggregationForms, NamesAreThoseOfTheRows) {
  std::set<std::string_view> names;
  std::string all = "auto";
  for (const AggregationForm* form : aggregation_forms()) {
    EXPECT_TRUE(names.insert(name(form->form)).second) << form->form << " occurs twice";
    all += str(", ", form->form);
    EXPECT_EQ(forms_of_all_products().find(name(form->form)) != std::string::npos, form->supports == nullptr);
    EXPECT_EQ(parse_aggregation(name(form->form)), form->form);
    EXPECT_EQ(&aggregation_form(form->form), form);
  }
  EXPECT_EQ(aggregation_forms().front()->form, Aggregation::kRows);
  EXPECT_EQ(kEnumNames<Aggregation>.names(), all);
  EXPECT_EQ(forms_of_all_products().substr(0, 5), "auto,");
  EXPECT_EQ(parse_aggregation("auto"), Aggregation::kAuto);
  EXPECT_ERROR(parse_aggregation("overlap"), "unknown aggregation 'overlap': expected one of " + all);
}

TEST(OpsAggregationForms, WhatARowSupportsItComputes) {
  for (const AggregationForm* form : aggregation_forms()) {
    SCOPED_TRACE(form->form);
    EXPECT_EQ(form->supports == nullptr, form->supported.empty());
    for (const AggregationProblem& problem : all_problems()) {
      if (form->supports && !form->supports(problem)) continue;
      SCOPED_TRACE(describe(problem));
      const bool special = problem.kind == ProductKind::kOther ? false
                           : problem.heads > 0                 ? form->attention != nullptr
                                                               : form->sum != nullptr;
      EXPECT_TRUE(special || form->gather);
    }
  }
}

TEST(OpsAggregationForms, CostsGrowWithColumnsAndOneRankExchangesNothing) {
  for (const AggregationForm* form : aggregation_forms())
    for (const std::int64_t heads : {0, 8}) {
      SCOPED_TRACE(form->form);
      AggregationSizes sizes{.nodes = 232'965, .edges = 114'615'892, .columns = 64, .heads = heads};
      const AggregationTime alone = form->cost(sizes, {});
      EXPECT_EQ(alone.exchange_ms, 0);
      EXPECT_EQ(alone.bytes_received, 0);
      sizes.ranks = 2;
      const AggregationTime two = form->cost(sizes, {});
      EXPECT_GT(two.exchange_ms, 0);
      EXPECT_GT(two.bytes_received, 0);
      EXPECT_LT(two.product_ms, alone.product_ms);
      sizes.columns = 128;
      EXPECT_GT(form->cost(sizes, {}).ms(), two.ms());
      EXPECT_TRUE(std::isfinite(two.ms()));
    }
}

}  // namespace
}  // namespace rodeo::test
