#include "datasets/import/csv_labels.h"

#include "core/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace rodeo {
namespace {

constexpr const char* kEmpty = " is empty: fill it, or leave the column out";

/// A label that is an integer, also written 4.0.
std::optional<std::int64_t> integer_label(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr double kLargest = 1e15;  // integers up to here are exact
  if (error != std::errc{} || end != text.data() + text.size() || value != std::floor(value) ||
      std::abs(value) > kLargest)
    return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::string name_of(const CsvTable& table, int column) {
  std::string name = table.columns()[static_cast<std::size_t>(column)];
  std::replace(name.begin(), name.end(), '\n', ' ');
  return name;
}

}  // namespace

CsvLabels::CsvLabels(const CsvTable& table, std::vector<int> columns, const CsvOptions& options)
    : columns_(std::move(columns)), regression_(options.regression), multi_label_(options.multi_label) {
  check(!multi_label_ || columns_.size() > 1, table.path(),
        ": --multi-label needs several columns of 0 and 1: name them by --columns label=NAME,label=NAME");
  check(!regression_ || !columns_.empty(), table.path(),
        ": --regression needs a column with numbers to predict: name it by --columns label=NAME; its columns "
        "are ",
        table.list_columns());
}

void CsvLabels::add(const CsvTable& table, std::vector<std::string>& fields) {
  if (columns_.empty()) return;
  if (regression_ || columns_.size() > 1) return add_numbers(table, fields);
  std::string& text = fields[static_cast<std::size_t>(columns_[0])];
  std::replace(text.begin(), text.end(), '\n', ' ');
  add_class(text);
}

void CsvLabels::add_class(const std::string& text) {
  if (text.empty()) return codes_.push_back(-1);
  codes_.push_back(codes_of_.try_emplace(text, static_cast<std::int64_t>(codes_of_.size())).first->second);
}

void CsvLabels::add_numbers(const CsvTable& table, const std::vector<std::string>& fields) {
  for (const int column : columns_) {
    const std::string& field = fields[static_cast<std::size_t>(column)];
    const bool missing = field.empty() || field == "nan" || field == "NaN" || (!regression_ && field == "-1");
    const float value = missing ? std::numeric_limits<float>::quiet_NaN()
                                : table.number(static_cast<std::size_t>(column), field);
    if (!regression_ && !missing && value != 0 && value != 1)
      table.wrong("column ", quote(name_of(table, column)),
                  " must be 0, 1 or nothing, as one of several labels, got ", quote(field),
                  ": or are they numbers to predict, --regression?");
    numbers_.push_back(value);
  }
}

/// The column of each node whose label is 1, or -1 where all are missing. Empty unless every node has exactly
/// one, or none known.
std::vector<std::int64_t> CsvLabels::one_of_each() const {
  std::vector<std::int64_t> chosen;
  for (std::size_t at = 0; at < numbers_.size(); at += columns_.size()) {
    const auto begin = numbers_.begin() + static_cast<std::ptrdiff_t>(at),
               end = begin + static_cast<std::ptrdiff_t>(columns_.size());
    const auto ones = std::count(begin, end, 1.0F), zeros = std::count(begin, end, 0.0F);
    if (ones + zeros == 0)
      chosen.push_back(-1);
    else if (ones == 1 && zeros + 1 == end - begin)
      chosen.push_back(std::find(begin, end, 1.0F) - begin);
    else
      return {};
  }
  return chosen;
}

std::string CsvLabels::finish(const CsvTable& table, Dataset& out) const {
  if (columns_.empty()) return "labels: none";
  if (!regression_ && columns_.size() == 1) return finish_classes(table, out);
  const auto count = static_cast<std::int64_t>(columns_.size());
  check(!std::all_of(numbers_.begin(), numbers_.end(), [](float y) { return std::isnan(y); }), table.path(),
        ": column ", quote(name_of(table, columns_[0])), kEmpty);
  out.num_classes = count;
  for (const int column : columns_) out.class_names.push_back(name_of(table, column));
  out.y = Tensor::from(numbers_, {static_cast<std::int64_t>(numbers_.size()) / count, count});
  if (regression_) return str("labels: numbers to predict, ", count, " a node");
  if (const std::vector<std::int64_t> chosen = one_of_each(); !multi_label_ && !chosen.empty()) {
    out.y = Tensor::from(chosen);
    return str("labels: ", count_of(count, "class"), ", of ", count,
               " columns of which each node has exactly one; to keep them apart give --multi-label");
  }
  std::vector<std::uint8_t> labels;
  for (const float y : numbers_)
    labels.push_back(std::isnan(y) ? Dataset::kMissingLabel : static_cast<std::uint8_t>(y));
  out.y = Tensor::from(labels, out.y.shape());
  return str("labels: ", count_of(count, "label"), " a node, each 0 or 1 (multi-label)");
}

/// Integers 0, 1, ..., C - 1 are classes; other texts become classes in ascending order and keep their names.
/// A negative integer is no label if all labels are integers.
std::string CsvLabels::finish_classes(const CsvTable& table, Dataset& out) const {
  const std::string name = quote(name_of(table, columns_[0])), where = table.path() + ": column " + name;
  check(!codes_of_.empty(), where, kEmpty);
  std::vector<std::int64_t> class_of(codes_of_.size(), -1);
  std::map<std::int64_t, std::int64_t> integers;  // value, class
  bool all_integers = true, negative = false;
  for (const auto& [text, code] : codes_of_) {
    const std::optional<std::int64_t> value = integer_label(text);
    all_integers &= value.has_value();
    negative |= value.value_or(0) < 0;
    if (value.value_or(-1) >= 0) integers.emplace(*value, 0);
  }
  if (all_integers) {
    check(!negative || integers.size() > 1, where, " has ", integers.size(),
          " class besides negative numbers, which mean unlabelled: write names of classes, and nothing for "
          "unlabelled nodes");
    for (auto& [value, number] : integers) {
      number = static_cast<std::int64_t>(out.class_names.size());
      out.class_names.push_back(std::to_string(value));
    }
    if (integers.rbegin()->first + 1 == static_cast<std::int64_t>(integers.size())) out.class_names.clear();
    for (const auto& [text, code] : codes_of_)
      if (const std::int64_t value = *integer_label(text); value >= 0) class_of[code] = integers[value];
  } else {
    for (const auto& [text, code] : codes_of_) {  // a map is sorted by text
      class_of[code] = static_cast<std::int64_t>(out.class_names.size());
      out.class_names.push_back(text);
    }
  }
  const auto classes = static_cast<std::int64_t>(codes_of_.size());
  const auto labelled = std::ssize(codes_) - std::count(codes_.begin(), codes_.end(), -1);
  const bool fractions =
      !all_integers && std::all_of(codes_of_.begin(), codes_of_.end(),
                                   [](const auto& label) { return number_in(label.first).has_value(); });
  check(
      !nearly_all_differ(classes, fractions ? classes : labelled), where, " has ", classes, " different ",
      fractions ? "numbers, some of them fractions," : "values", " for ", labelled,
      " labelled nodes, which are no classes: give --regression if they are numbers to predict, or name the "
      "label by --columns label=NAME");
  out.num_classes = 0;
  std::vector<std::int64_t> y = codes_;
  for (std::int64_t& code : y) {
    if (code >= 0) code = class_of[code];
    out.num_classes = std::max(out.num_classes, code + 1);
  }
  out.y = Tensor::from(y);
  return str(
      "labels: ", name, ", ", count_of(out.num_classes, "class"),
      all_integers || fractions ? " of numbers; to predict the numbers give --regression" : " of texts");
}

}  // namespace rodeo
