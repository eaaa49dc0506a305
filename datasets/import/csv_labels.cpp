#include "datasets/import/csv_labels.h"

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

CsvLabels::CsvLabels(const CsvTable& table, std::vector<int> columns, bool regression)
    : columns_(std::move(columns)), regression_(regression) {
  check(!regression || !columns_.empty(), table.path(),
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

void CsvLabels::finish(const CsvTable& table, Dataset& out) const {
  if (columns_.empty()) return;
  const std::string where = str(table.path(), ": column ", quote(name_of(table, columns_[0])));
  if (!regression_ && columns_.size() == 1) return finish_classes(where, out);
  const auto count = static_cast<std::int64_t>(columns_.size());
  check(!std::all_of(numbers_.begin(), numbers_.end(), [](float y) { return std::isnan(y); }), where, kEmpty);
  out.num_classes = count;
  for (const int column : columns_) out.class_names.push_back(name_of(table, column));
  out.y = Tensor::from(numbers_, {static_cast<std::int64_t>(numbers_.size()) / count, count});
  if (regression_) return;
  std::vector<std::uint8_t> labels;
  for (const float y : numbers_)
    labels.push_back(std::isnan(y) ? Dataset::kMissingLabel : static_cast<std::uint8_t>(y));
  out.y = Tensor::from(labels, out.y.shape());
}

/// Integers 0, 1, ..., C - 1 are classes; other texts become classes in ascending order and keep their names.
/// A negative integer is no label if all labels are integers.
void CsvLabels::finish_classes(const std::string& where, Dataset& out) const {
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
  out.num_classes = 0;
  std::vector<std::int64_t> y = codes_;
  for (std::int64_t& code : y) {
    if (code >= 0) code = class_of[code];
    out.num_classes = std::max(out.num_classes, code + 1);
  }
  out.y = Tensor::from(y);
}

}  // namespace rodeo
