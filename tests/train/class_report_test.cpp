// Scores by class: those of scikit-learn's classification_report.
#include "train/report/class_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "datasets/dataset.h"

namespace rodeo {
namespace {

/// Logits whose largest column is `predicted`.
Tensor logits_of(const std::vector<std::int64_t>& predicted, std::int64_t classes) {
  std::vector<float> values(predicted.size() * static_cast<std::size_t>(classes), -1);
  for (std::size_t i = 0; i < predicted.size(); ++i)
    values[i * static_cast<std::size_t>(classes) + static_cast<std::size_t>(predicted[i])] = 2;
  return Tensor::from(values, {static_cast<std::int64_t>(predicted.size()), classes});
}

// Class 2 is neither there nor predicted, class 3 never predicted; the last node is not scored, the one
// before has no label.
ClassReport example() {
  return report_classes(logits_of({0, 0, 1, 1, 0, 0, 3, 3}, 4),
                        Tensor::from(std::vector<std::int64_t>{0, 0, 0, 1, 1, 3, -1, 2}),
                        {0, 1, 2, 3, 4, 5, 6}, {"cat", "dog", "eel", "fox"});
}

TEST(TrainClassReport, ScoresAndMeans) {
  const ClassReport report = example();
  ASSERT_EQ(report.classes.size(), 4u);
  EXPECT_EQ(report.classes[0].nodes, 3);
  EXPECT_DOUBLE_EQ(report.classes[0].precision, 0.5);
  EXPECT_DOUBLE_EQ(report.classes[0].recall, 2.0 / 3);
  EXPECT_DOUBLE_EQ(report.classes[0].f1, 4.0 / 7);
  EXPECT_TRUE(std::isnan(report.classes[2].f1));
  EXPECT_TRUE(std::isnan(report.classes[3].precision));
  EXPECT_EQ(report.classes[3].recall, 0);
  EXPECT_DOUBLE_EQ(report.micro.f1, 0.5);
  EXPECT_DOUBLE_EQ(report.macro.precision, 1.0 / 3);
  EXPECT_DOUBLE_EQ(report.macro.f1, (4.0 / 7 + 0.5) / 3);
  EXPECT_DOUBLE_EQ(report.weighted.f1, (3 * 4.0 / 7 + 2 * 0.5) / 6);
  EXPECT_EQ(report.weighted.nodes, 6);
}

// Micro-F1 counts labels above a probability of a half. A NaN is below it.
TEST(TrainClassReport, ALogitOfZeroPredictsNoLabel) {
  const ClassReport report =
      report_classes(Tensor::from(std::vector<float>{1e-6F, 0, -1e-6F, NAN}, {4, 1}),
                     Tensor::from(std::vector<std::uint8_t>{1, 1, 0, 1}, {4, 1}), {0, 1, 2, 3}, {});
  EXPECT_EQ(report.classes[0].nodes, 3);
  EXPECT_EQ(report.classes[0].precision, 1);
  EXPECT_DOUBLE_EQ(report.classes[0].recall, 1. / 3);
}

TEST(TrainClassReport, IsATable) {
  EXPECT_EQ(format_classes(example()),
            "class         precision   recall  f1-score   support\n"
            "0 (cat)          0.5000   0.6667    0.5714         3\n"
            "1 (dog)          0.5000   0.5000    0.5000         2\n"
            "2 (eel)               -        -         -         0\n"
            "3 (fox)               -   0.0000    0.0000         1\n"
            "\n"
            "accuracy                            0.5000         6\n"
            "macro avg        0.3333   0.3889    0.3571         6\n"
            "weighted avg     0.4167   0.5000    0.4524         6\n");
}

TEST(TrainClassReport, IsJson) {
  const auto json = nlohmann::json::parse(classes_json(example()));
  EXPECT_EQ(json["classes"].size(), 4u);
  EXPECT_EQ(json["classes"][1]["class"], 1);
  EXPECT_EQ(json["classes"][1]["name"], "dog");
  EXPECT_EQ(json["classes"][1]["f1"], 0.5);
  EXPECT_EQ(json["classes"][1]["support"], 2);
  EXPECT_TRUE(json["classes"][2]["precision"].is_null());
  EXPECT_EQ(json["accuracy"], 0.5);
  EXPECT_EQ(json["macro_avg"]["precision"], 1.0 / 3);
  EXPECT_EQ(json["weighted_avg"]["support"], 6);
  EXPECT_FALSE(json.contains("micro_avg"));
}

TEST(TrainClassReport, SeveralLabelsOfANode) {
  const std::uint8_t missing = Dataset::kMissingLabel;
  const ClassReport report = report_classes(
      Tensor::from(std::vector<float>{1, -1, 1, 1, -1, -1, 1, 1}, {4, 2}),
      Tensor::from(std::vector<std::uint8_t>{1, 0, 0, 1, 1, 1, 0, missing}, {4, 2}), {0, 1, 2, 3}, {});
  EXPECT_DOUBLE_EQ(report.classes[0].precision, 1.0 / 3);
  EXPECT_DOUBLE_EQ(report.classes[0].recall, 0.5);
  EXPECT_DOUBLE_EQ(report.classes[1].precision, 1);  // the missing label is not counted
  EXPECT_DOUBLE_EQ(report.classes[1].recall, 0.5);
  EXPECT_DOUBLE_EQ(report.micro.precision, 0.5);
  EXPECT_DOUBLE_EQ(report.micro.f1, 0.5);
  const std::string table = format_classes(report);
  EXPECT_NE(table.find("\nmicro avg        0.5000   0.5000    0.5000         4\n"), std::string::npos)
      << table;
  EXPECT_EQ(table.find("accuracy"), std::string::npos);
  EXPECT_TRUE(nlohmann::json::parse(classes_json(report)).contains("micro_avg"));
}

TEST(TrainClassReport, NothingToScore) {
  const ClassReport report =
      report_classes(logits_of({0}, 2), Tensor::from(std::vector<std::int64_t>{0}), {}, {});
  EXPECT_NE(format_classes(report).find("accuracy                                 -         0"),
            std::string::npos)
      << format_classes(report);
}

}  // namespace
}  // namespace rodeo
