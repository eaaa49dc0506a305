#include "datasets/import/csv_features.h"

#include "core/text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace rodeo {
namespace {

constexpr const char *kHint = ": choose features by --feature-columns, or give it a role by --columns",
                     *kGap = ": leave a field empty where a value is missing",
                     *kOr = ", choose features by --feature-columns, or give it a role by --columns";

/// "1,5" as "1.5".
std::string without_comma(std::string field) {
  std::replace(field.begin(), field.end(), ',', '.');
  return field;
}

double mean_of(const std::vector<float>& values) {
  double sum = 0;
  std::int64_t known = 0;
  for (const float value : values)
    if (!std::isnan(value)) sum += value, ++known;
  return known == 0 ? 0 : sum / static_cast<double>(known);
}

}  // namespace

CsvFeatures::CsvFeatures(const std::vector<std::size_t>& columns, std::string missing)
    : missing_(std::move(missing)) {
  check(missing_ == "error" || missing_ == "zero" || missing_ == "mean",
        "--missing must be error, zero or mean, got ", quote(missing_));
  for (const std::size_t at : columns) columns_.push_back({at, {}});
}

void CsvFeatures::add(const CsvTable& table, const std::vector<std::string>& fields) {
  for (Column& column : columns_) {
    const std::string& field = fields[column.at];
    const auto wrong = [&](const auto&... parts) {
      table.wrong("column ", quote(table.columns()[column.at]), " has ", parts...);
    };
    const std::optional<double> number = number_in(field);
    if (field.empty() || (number && std::isnan(*number))) {
      if (missing_ == "error")
        wrong(
            "no value: fill it, give --missing mean or --missing zero, or choose others by "
            "--feature-columns");
      column.values.push_back(std::numeric_limits<float>::quiet_NaN());
      ++filled_;
      continue;
    }
    if (number && !column.code.empty())
      wrong("the number ", quote(field), " among texts such as ", quote(column.code.begin()->first), kGap,
            kOr);
    if (!number && number_in(without_comma(field)))
      wrong(quote(field), ", which is a number with a comma: write a decimal point and no other separators",
            kOr);
    if (number || column.numbers) {
      column.numbers = true;
      column.values.push_back(table.number(column.at, field, kHint));
      continue;
    }
    const auto code = static_cast<std::int64_t>(column.code.size());
    column.values.push_back(static_cast<float>(column.code.try_emplace(field, code).first->second));
    if (column.code.size() > kMostTexts) wrong("more than ", kMostTexts, " texts", kHint);
  }
}

/// Writes a column's part of all rows of x.
void CsvFeatures::expand(const Column& column, float fill, std::int64_t width, float* to) const {
  std::vector<std::int64_t> place(column.code.size());
  std::int64_t rank = 0;
  for (const auto& [text, code] : column.code) place[static_cast<std::size_t>(code)] = rank++;
  for (const float value : column.values) {
    if (column.code.empty())
      *to = std::isnan(value) ? fill : value;
    else if (!std::isnan(value))
      to[place[static_cast<std::size_t>(value)]] = 1;
    to += width;
  }
}

std::string CsvFeatures::finish(const CsvTable& table, Dataset& out) const {
  if (columns_.empty()) return "features: none";
  std::int64_t width = 0, numbers = 0;
  std::string texts;
  for (const Column& column : columns_) {
    const auto count = static_cast<std::int64_t>(column.code.size());
    const std::string name = quote(table.columns()[column.at]);
    check(!nearly_all_differ(count, out.num_nodes), table.path(), ": column ", name, " has ", count,
          " texts for ", out.num_nodes, " nodes, too many for a column each", kHint);
    if (count > 0)
      texts += str(", ", name, " one-hot of ", count_of(count, "text"));
    else
      ++numbers;
    width += std::max<std::int64_t>(count, 1);
  }
  out.num_features = width;
  out.x = Tensor::zeros({out.num_nodes, width});
  auto* to = out.x.data<float>();
  for (const Column& column : columns_) {
    expand(column, missing_ == "mean" ? static_cast<float>(mean_of(column.values)) : 0, width, to);
    to += std::max<std::size_t>(column.code.size(), 1);
  }
  const std::string filled =
      filled_ == 0 ? ""
                   : str("; ", count_of(filled_, "missing value"), filled_ == 1 ? " is " : " are ",
                         missing_ == "mean" ? "the mean of the column" : "0");
  return str("features: ", count_of(numbers, "column"), " of numbers", texts, filled);
}

}  // namespace rodeo
