#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/quoting.h"
#include "train/report/analysis.h"
#include "train/report/class_report.h"
#include "train/report/page.h"
#include "train/report/svg.h"
#include "train/task/advice.h"

namespace rodeo {
namespace {

constexpr std::int64_t kMaxDots = 2000;   // in the projection
constexpr std::int64_t kMaxClasses = 50;  // in the confusion matrix

std::string scores(const ClassReport& report, const std::string& nodes) {
  const auto text = [](double share) { return std::isfinite(share) ? fmt::format("{:.3f}", share) : "-"; };
  std::string rows = fmt::format(
      "<table "
      "class=\"scores\">\n<tr><th>class</th><th>{}</th><th>precision</th><th>recall</th><th>F1</th></tr>\n",
      nodes);
  for (std::size_t c = 0; c < report.classes.size(); ++c) {
    const ClassScore& of = report.classes[c];
    rows += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        html_text(class_text(report.names, static_cast<std::int64_t>(c))), of.nodes,
                        text(of.precision), text(of.recall), text(of.f1));
  }
  return rows + fmt::format("</table>\n<p class=\"note\">Macro F1 (mean over the classes): {:.4f}</p>\n",
                            report.macro.f1);
}

/// Predicted against true numbers.
std::string numbers(const NodeOutputs& of, const std::vector<std::string>& names_of_targets,
                    const std::string& nodes, const std::string& epoch) {
  const Tensor predicted = of.logits.to(DType::kF64), label = of.label.to(DType::kF64);
  const std::int64_t targets = label.dim(1), count = std::ssize(of.test);
  std::vector<double> x, y;
  std::vector<std::int64_t> target;
  const std::int64_t dots = std::min(count, kMaxDots);
  for (std::int64_t i = 0; i < dots; ++i)  // with too many, an evenly spread selection
    for (std::int64_t t = 0; t < targets; ++t) {
      const std::int64_t at = of.test[static_cast<std::size_t>(i * count / dots)] * targets + t;
      if (std::isnan(label.data<double>()[at])) continue;  // not known
      x.push_back(label.data<double>()[at]);
      y.push_back(predicted.data<double>()[at]);
      target.push_back(t);
    }
  std::vector<std::string> names = names_of_targets;
  if (names.empty())
    for (std::int64_t t = 0; t < targets; ++t) names.push_back(fmt::format("target {}", t));
  return section(
      "Predicted and true",
      svg::scatter({.title = "Predicted against true", .x = "true", .y = "predicted", .diagonal = true}, x, y,
                   target, names),
      fmt::format("{} of {} test {}, after {}. A perfect prediction is on the diagonal.", dots, count, nodes,
                  epoch));
}

/// Metrics of the test pairs. Over ranks, a collective call.
std::string pairs(const NodeRun& run, const std::string& epoch) {
  const NoGrad no_grad;
  const bool training = run.model.module->training();
  run.model.module->eval();
  const TrainerParts& parts = run.model.parts;
  parts.metrics->metrics(parts.forward({}).value());
  run.model.module->train(training);
  std::vector<std::pair<std::string, std::string>> rows;
  for (const auto& [name, value] : parts.metrics->details())
    rows.emplace_back(name, fmt::format("{:.4f}", value));
  return section("Test pairs", table(rows), fmt::format("Edges and pairs without an edge, after {}.", epoch));
}

}  // namespace

std::string predictions(const NodeRun& run, const std::string& epoch) {
  const std::string of = run.task.parts_of.empty() ? "nodes" : run.task.parts_of;
  if (run.model.parts.forward) return pairs(run, epoch);  // scores of pairs, not predictions of nodes
  const NodeOutputs outputs = outputs_of(run);
  if (run.task.regression()) return numbers(outputs, run.task.class_names, of, epoch);
  const auto& [logits, labels, test] = outputs;
  const std::string by_class = scores(report_classes(logits, labels, test, run.task.class_names), of);
  if (run.task.label.rank() == 2)
    return section(
        "Scores by class", by_class,
        fmt::format("Test {} by label, after {}: predicted above a probability of a half.", of, epoch));
  const std::vector<std::int64_t> label = labels.to_vector<std::int64_t>();
  const std::int64_t classes = logits.dim(1), nodes = logits.dim(0);
  std::vector<std::string> names;
  for (std::int64_t c = 0; c < classes; ++c) names.push_back(class_text(run.task.class_names, c));
  std::string out;
  if (classes <= kMaxClasses) {
    const std::vector<std::int64_t> counts = confusion(largest_columns(logits), label, test, classes);
    out += section(
        fmt::format("Test {} by class", of),
        svg::heat_map({.title = "Confusion matrix", .x = "predicted class", .y = "class"}, counts, names),
        fmt::format("After {}. A row is a class, coloured by shares of it.", epoch));
    out += section("Scores by class", by_class, fmt::format("Test {}, after {}.", of, epoch));
  }
  // With too many nodes, an evenly spread selection.
  const std::int64_t dots = std::min(nodes, kMaxDots);
  std::vector<double> values;
  std::vector<std::int64_t> class_of;
  const Tensor wide = logits.to(DType::kF64);
  for (std::int64_t i = 0; i < dots; ++i) {
    const std::int64_t node = i * nodes / dots;
    if (label[static_cast<std::size_t>(node)] < 0) continue;
    const double* row = wide.data<double>() + node * classes;
    values.insert(values.end(), row, row + classes);
    class_of.push_back(label[static_cast<std::size_t>(node)]);
  }
  const Plane plane =
      principal_plane(Tensor::from(values, {static_cast<std::int64_t>(class_of.size()), classes}));
  return out + section("Embedding",
                       svg::scatter(
                           {.title = "Projection of the logits",
                            .x = fmt::format("first component, {} of the variance", percent(plane.share_x)),
                            .y = fmt::format("second, {}", percent(plane.share_y))},
                           plane.x, plane.y, class_of, names),
                       fmt::format("The model's output for {} of {} {} after {}, by its two principal "
                                   "components; a colour is a class.",
                                   class_of.size(), nodes, of, epoch));
}

}  // namespace rodeo
