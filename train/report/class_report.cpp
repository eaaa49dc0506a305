#include "train/report/class_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/variable.h"
#include "datasets/dataset.h"
#include "ops/all_gather.h"
#include "train/exchange.h"
#include "train/io/json_text.h"
#include "train/report/analysis.h"
#include "train/task/advice.h"

namespace rodeo {
namespace {

/// Nodes of a class, nodes predicted as it, and those that are both.
struct Counts {
  std::int64_t nodes = 0, predicted = 0, hits = 0;
};

ClassScore score_of(const Counts& c) {
  const auto hits = static_cast<double>(c.hits);
  return {c.nodes, hits / static_cast<double>(c.predicted), hits / static_cast<double>(c.nodes),
          2 * hits / static_cast<double>(c.nodes + c.predicted)};
}

std::vector<Counts> count(const Tensor& logits, const Tensor& label, const std::vector<std::int64_t>& nodes) {
  const std::int64_t classes = logits.dim(1);
  std::vector<Counts> counts(static_cast<std::size_t>(classes));
  if (label.rank() == 1) {
    const std::vector<std::int64_t> is = label.to(kCpu).to_vector<std::int64_t>(),
                                    predicted = largest_columns(logits);
    for (const std::int64_t node : nodes) {
      if (is[node] < 0) continue;
      ++counts.at(is[node]).nodes;
      ++counts.at(predicted[node]).predicted;
      counts.at(is[node]).hits += is[node] == predicted[node];
    }
    return counts;
  }
  const std::vector<std::uint8_t> is = label.to(kCpu).to_vector<std::uint8_t>();
  const std::vector<double> score = logits.to(kCpu).to(DType::kF64).to_vector<double>();
  for (const std::int64_t node : nodes)
    for (std::int64_t c = 0; c < classes; ++c) {
      const std::int64_t at = node * classes + c;
      if (is[at] == Dataset::kMissingLabel) continue;
      const bool has = is[at] != 0, predicted = score[at] > 0;
      counts[c].nodes += has;
      counts[c].predicted += predicted;
      counts[c].hits += has && predicted;
    }
  return counts;
}

double or_zero(double share) {
  return std::isfinite(share) ? share : 0;
}

/// weight(score) of each class; their sum may be 0.
template <class Weight>
ClassScore mean(const std::vector<ClassScore>& classes, Weight&& weight) {
  ClassScore sum;
  double total = 0;
  for (const ClassScore& score : classes) {
    const double w = weight(score);
    total += w;
    sum.nodes += score.nodes;
    sum.precision += w * or_zero(score.precision);
    sum.recall += w * or_zero(score.recall);
    sum.f1 += w * or_zero(score.f1);
  }
  return {sum.nodes, sum.precision / total, sum.recall / total, sum.f1 / total};
}

std::string text_of(double share) {
  return std::isfinite(share) ? fmt::format("{:.4f}", share) : "-";
}

std::string line(std::string_view name, std::size_t width, const ClassScore& score) {
  return fmt::format("{:<{}}  {:>9}  {:>7}  {:>8}  {:>8}\n", name, width, text_of(score.precision),
                     text_of(score.recall), text_of(score.f1), score.nodes);
}

Json to_json(const ClassScore& score) {
  return {
      {"precision", score.precision}, {"recall", score.recall}, {"f1", score.f1}, {"support", score.nodes}};
}

}  // namespace

ClassReport report_classes(const Tensor& logits, const Tensor& label, const std::vector<std::int64_t>& nodes,
                           std::vector<std::string> names) {
  ClassReport report;
  report.names = std::move(names);
  report.multi_label = label.rank() == 2;
  Counts all;
  for (const Counts& c : count(logits, label, nodes)) {
    report.classes.push_back(score_of(c));
    all.nodes += c.nodes;
    all.predicted += c.predicted;
    all.hits += c.hits;
  }
  report.micro = score_of(all);
  report.macro = mean(report.classes, [](const ClassScore& s) { return std::isnan(s.f1) ? 0 : 1; });
  report.weighted = mean(report.classes, [](const ClassScore& s) { return static_cast<double>(s.nodes); });
  return report;
}

NodeOutputs outputs_of(const NodeRun& run) {
  const NodeTask& task = run.task;
  Tensor logits, label = task.label, test = task.split.test;
  {
    const NoGrad no_grad;
    const bool training = run.model.module->training();
    run.model.module->eval();
    logits = run.model.forward().value();
    if (task.target_scale.defined()) logits = task.target_scale.undo(logits.to(DType::kF32));
    run.model.module->train(training);
  }
  if (task.partition) {
    logits = all_gather(*task.partition, logits), label = all_gather(*task.partition, label);
    test = split_of_all(*task.partition, task.split).test;
  }
  NodeOutputs out{in_file_order(task, logits), in_file_order(task, label), test.to_vector<std::int64_t>()};
  for (std::int64_t& node : out.test)
    if (task.order.defined()) node = task.order.data<std::int64_t>()[node];
  return out;
}

std::string format_classes(const ClassReport& report) {
  std::size_t width = std::string_view("weighted avg").size();
  std::vector<std::string> names;
  for (std::size_t c = 0; c < report.classes.size(); ++c) {
    names.push_back(class_text(report.names, static_cast<std::int64_t>(c)));
    width = std::max(width, names.back().size());
  }
  std::string table = fmt::format("{:<{}}  precision   recall  f1-score   support\n", "class", width);
  for (std::size_t c = 0; c < report.classes.size(); ++c) table += line(names[c], width, report.classes[c]);
  table += '\n';
  if (report.multi_label)
    table += line("micro avg", width, report.micro);
  else
    table += fmt::format("{:<{}}  {:>9}  {:>7}  {:>8}  {:>8}\n", "accuracy", width, "", "",
                         text_of(report.micro.f1), report.micro.nodes);
  return table + line("macro avg", width, report.macro) + line("weighted avg", width, report.weighted);
}

std::string classes_json(const ClassReport& report) {
  Json classes = Json::array();
  for (std::size_t c = 0; c < report.classes.size(); ++c) {
    Json one = {{"class", c}};
    if (!report.names.empty()) one["name"] = report.names[c];
    one.update(to_json(report.classes[c]));
    classes.push_back(std::move(one));
  }
  Json json = {{"classes", std::move(classes)}};
  if (report.multi_label)
    json["micro_avg"] = to_json(report.micro);
  else
    json["accuracy"] = report.micro.f1;
  json["macro_avg"] = to_json(report.macro);
  json["weighted_avg"] = to_json(report.weighted);
  return json_text(json);
}

}  // namespace rodeo
